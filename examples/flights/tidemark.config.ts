/**
 * US flights of 2001, as they left: who is late, from where, and on which route. One record is one flight:
 *
 *   {"id":0,"date":978307260000,"delay":33,"distance":2176,"origin":"LAS","destination":"PHL"}
 *
 * Every answer can be recounted from the file, group by group.
 */
import { count, max, mean, min, pipeline, quantile, sum, tumbling, view } from 'tidemark';

export default pipeline({
  name: 'flights',
  stream: 'flights',
  // History is replayed at any speed, so a record's time has nothing to do with its arrival.
  time: { field: 'date', unit: 'ms', zone: 'UTC', lateness: '2h', skew: 'none' },
  // A producer that was cut off resends what was not acknowledged; each row counts once.
  dedupe: { id: 'id', within: '7d' },
  views: {
    delay_by_origin: view({
      groupBy: ['origin'],
      aggregates: {
        flights: count(),
        total: sum('delay'),
        best: min('delay'),
        worst: max('delay'),
        average: mean('delay'),
        typical: quantile('delay', [0.5, 0.99]),
      },
    }),
    busiest_days: view({
      groupBy: ['origin'],
      window: tumbling('1d'),
      aggregates: { flights: count(), average: mean('delay') },
    }),
    routes: view({
      groupBy: ['origin', 'destination'],
      aggregates: { flights: count(), total: sum('delay'), miles: max('distance') },
    }),
  },
});

/*
 * The page: one look at the pipeline a second. What comes from records is data: it is only ever set as text.
 */
import { keyText, numberText, standingText, timeText } from './texts.js';

const REFRESH_MS = 1000;
const ROWS = 25;
/** Behind by more than this a slice is shown as late. */
const BEHIND_MS_TO_WARN = 30_000;

const element = (id) => document.getElementById(id);

let views = [];
let planHash = null;
let lastTotal = null;
let refreshing = null;

element('view').addEventListener('change', () => {
  fillOrders();
  void refresh();
});
for (const id of ['order', 'direction']) element(id).addEventListener('change', refresh);
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void refresh();
});
void refresh();

/** One refresh at a time: another that is asked for meanwhile follows it. */
async function refresh() {
  if (refreshing !== null) {
    refreshing.again = true;
    return;
  }
  refreshing = { again: false };
  try {
    const status = await get('/v1/status');
    if (status.plan.hash !== planHash) await loadViews(status.plan.hash);
    showStatus(status);
    await showRows();
    showConnection(null);
  } catch (error) {
    showConnection(error);
  }
  const { again } = refreshing;
  refreshing = null;
  clearTimeout(refresh.timer);
  // A hidden page does not ask.
  if (again) void refresh();
  else if (!document.hidden) refresh.timer = setTimeout(refresh, REFRESH_MS);
}

async function get(path) {
  let response;
  try {
    response = await fetch(path, { headers: { accept: 'application/json' } });
  } catch {
    throw new Error('Nothing answers at this address: is tidemark still running?');
  }
  const text = await response.text();
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Error(`The server answered ${response.status}, and not with JSON.`);
  }
  if (!response.ok) throw new Error(body.detail ?? body.title ?? `status ${response.status}`);
  return body;
}

function showConnection(error) {
  const connection = element('connection');
  connection.dataset.state = error === null ? 'live' : 'lost';
  const time = new Date().toLocaleTimeString();
  if (error === null) connection.textContent = `live, ${time}`;
  else if (!connection.textContent.startsWith('lost')) connection.textContent = `lost at ${time}`;
  document.body.classList.toggle('stale', error !== null);
  element('problem').hidden = error === null;
  if (error !== null) {
    element('problem').textContent =
      `${error.message} What is below may be old. Trying again each second.`;
  }
}

async function loadViews(hash) {
  const chosen = element('view').value;
  ({ views } = await get('/v1/views'));
  element('view').replaceChildren(...views.map(({ name }) => new Option(name, name)));
  if (views.some(({ name }) => name === chosen)) element('view').value = chosen;
  fillOrders();
  planHash = hash;
}

function fillOrders() {
  const view = views.find(({ name }) => name === element('view').value);
  const names = Object.entries(view?.aggregates ?? {}).flatMap(([name, aggregate]) =>
    aggregate.at === undefined ? [name] : aggregate.at.map((rank) => `${name}.${rank}`),
  );
  const count = names.find((name) => view.aggregates[name]?.count !== undefined);
  element('order').replaceChildren(...names.map((name) => new Option(name, name)));
  if (count !== undefined) element('order').value = count;
}

function showStatus(status) {
  const { pipeline, records, watermark, waiting, listed, slices } = status;
  const { partlyQuarantined, partlyDropped, pastDedupe } = status;
  document.title = `${pipeline} · Tidemark`;
  element('pipeline').textContent = pipeline;
  const total = Object.values(records).reduce((sum, count) => sum + count, 0);
  const behind = slices.map(({ behindMs }) => behindMs ?? 0);
  const totals = [
    ['records/s', rateOf(total)],
    ['folded', numberText(records.folded)],
    ['duplicates', numberText(records.duplicates)],
    ['late', numberText(records.late)],
    ['unmatched', numberText(records.unmatched)],
    ['quarantined', numberText(records.quarantined), records.quarantined > 0 ? 'warn' : ''],
    ...(partlyQuarantined > 0
      ? [['folded, and late for some views', numberText(partlyQuarantined), 'warn']]
      : []),
    ...(partlyDropped > 0
      ? [['folded, and dropped by some views', numberText(partlyDropped), 'warn']]
      : []),
    ...(pastDedupe > 0 ? [['too old for dedupe', numberText(pastDedupe), 'warn']] : []),
    ['behind', duration(Math.max(0, ...behind))],
    ['watermark', time(watermark)],
    ...(listed === false ? [['shards of the stream', 'not known', 'warn']] : []),
    ...(waiting === undefined ? [] : [['shards not folded yet', `${waiting.length}`, 'warn']]),
  ];
  element('totals').replaceChildren(
    ...totals.map(([name, value, style = '']) => {
      const group = document.createElement('div');
      group.append(make('dt', name), make('dd', value, style));
      return group;
    }),
  );
  showSlices(slices);
}

function rateOf(total) {
  const nowMs = performance.now();
  const last = lastTotal;
  lastTotal = { total, nowMs };
  if (last === null || nowMs <= last.nowMs) return '–';
  return numberText(Math.max(0, Math.round(((total - last.total) * 1000) / (nowMs - last.nowMs))));
}

function showSlices(slices) {
  element('slice-count').textContent = `${slices.length}`;
  const recordsMax = Math.max(1, ...slices.map(({ records }) => records));
  const columns = [
    { name: 'slice' },
    { name: 'state' },
    { name: 'behind', number: true },
    { name: 'timeline', number: true },
    { name: 'epoch', number: true },
    { name: 'checkpoint age', number: true },
    { name: 'records', number: true },
    { name: 'entries', number: true },
    { name: 'stored', number: true },
    { name: 'watermark' },
  ];
  const rows = slices.map((slice) => [
    { text: slice.id },
    { text: slice.state, style: slice.state === 'OPEN' ? 'good' : 'warn' },
    {
      text: slice.behindMs === null ? 'unknown' : duration(slice.behindMs),
      style: slice.behindMs === null || slice.behindMs > BEHIND_MS_TO_WARN ? 'warn' : '',
    },
    { text: numberText(slice.timeline) },
    { text: numberText(slice.epoch) },
    { text: duration(slice.checkpointAgeMs) },
    { text: numberText(slice.records), share: slice.records / recordsMax },
    { text: numberText(slice.entries) },
    { text: bytes(slice.stateBytes) },
    { text: time(slice.watermark) },
  ]);
  fill(
    element('slices'),
    columns,
    rows,
    'No slice yet: one begins with the first record of a shard.',
  );
}

async function showRows() {
  const view = element('view').value;
  const order = element('order').value;
  const query = new URLSearchParams({ limit: ROWS, order: element('direction').value + order });
  const answer = await get(`/v1/views/${encodeURIComponent(view)}?${query}`);
  // Another view was chosen meanwhile: its answer is on its way.
  if (view !== element('view').value || order !== element('order').value) return;
  const besides = answer.quarantined
    ? `; quarantined, for this view or for others: ${numberText(answer.quarantined)}`
    : '';
  element('as-of').textContent =
    `watermark ${time(answer.watermark)}, ${standingText(answer)}${besides}`;
  const definition = views.find(({ name }) => name === view);
  const keys = definition.groupBy;
  const values = valueColumns(definition);
  const isWindowed = definition.window !== null;
  const largest = Math.max(...answer.rows.map((row) => Math.abs(numberAt(row, order) ?? 0)), 0);
  const columns = [
    ...keys.map((name) => ({ name })),
    ...(isWindowed ? [{ name: 'window from' }, { name: 'closed' }] : []),
    ...values.map((name) => ({ name, number: true })),
  ];
  const rows = answer.rows.map((row) => [
    ...keys.map((name) => keyCell(row.key[name])),
    ...(isWindowed ? [{ text: time(row.window.start) }, { text: row.closed ? 'yes' : 'no' }] : []),
    ...values.map((name) => valueCell(row, name, name === order ? largest : 0)),
  ]);
  fill(element('rows'), columns, rows, 'No rows yet.');
}

/** A quantile has a column for each of its ranks. */
function valueColumns({ aggregates }) {
  return Object.entries(aggregates).flatMap(([name, { at }]) =>
    at === undefined ? [name] : at.map((rank) => `${name}.${rank}`),
  );
}

function numberAt(row, column) {
  const value = row.values[column];
  if (value === null || typeof value === 'number') return value;
  for (const [name, ranks] of Object.entries(row.values)) {
    const isRank = typeof ranks === 'object' && column.startsWith(`${name}.`);
    if (isRank) return ranks?.[column.slice(name.length + 1)] ?? null;
  }
  return null;
}

function keyCell(value) {
  return { text: keyText(value), style: typeof value === 'string' ? '' : 'none' };
}

function valueCell(row, column, largest) {
  const value = numberAt(row, column);
  if (value === null) return { text: '–', style: 'none' };
  const isInexact = row.inexact?.includes(column) ?? false;
  return {
    text: isInexact ? `≈ ${numberText(value)}` : numberText(value),
    share: largest > 0 ? Math.abs(value) / largest : null,
  };
}

function fill(table, columns, rows, nothing) {
  const head = document.createElement('tr');
  head.append(...columns.map(({ name, number }) => make('th', name, number ? 'number' : '')));
  if (rows.length === 0) {
    const cell = make('td', nothing, 'nothing');
    cell.colSpan = columns.length;
    const line = document.createElement('tr');
    line.append(cell);
    table.replaceChildren(head, line);
    return;
  }
  const lines = rows.map((cells) => {
    const line = document.createElement('tr');
    line.append(
      ...cells.map(({ text, style = '', share = null }, index) => {
        const cell = make('td', text, `${columns[index].number ? 'number' : ''} ${style}`);
        cell.title = text;
        if (share !== null) {
          cell.classList.add('bar');
          cell.style.setProperty('--share', String(share));
        }
        return cell;
      }),
    );
    return line;
  });
  table.replaceChildren(head, ...lines);
}

function make(tag, text, style = '') {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = style;
  return made;
}

function duration(ms) {
  if (ms === null) return 'none yet';
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function bytes(count) {
  if (count < 1024) return `${count} B`;
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(1)} KiB`;
  return `${(count / 1024 / 1024).toFixed(1)} MiB`;
}

function time(iso) {
  return iso === null ? 'none yet' : timeText(iso);
}

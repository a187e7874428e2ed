/**
 * List prices in US dollars of the region us-east-1, without free tiers, as of January 2026 and from memory of AWS's public
 * price pages (one for each service: aws.amazon.com/SERVICE/pricing). Check them before you rely on them.
 */
export const PRICES_OF = 'us-east-1, January 2026';

export const PRICES = {
  kinesis: {
    shardHour: 0.015,
    /** Above 24 h and up to 7 days. */
    extendedRetentionShardHour: 0.02,
    /** Of 25 KB each, begun ones too. */
    millionPutUnits: 0.014,
  },
  dynamodb: {
    // On demand, since November 2024.
    millionWriteUnits: 0.625,
    millionReadUnits: 0.125,
    storedGbMonth: 0.25,
    recoverableGbMonth: 0.2,
  },
  s3: {
    // Standard. PUT and LIST are one class; DELETE is free.
    thousandPuts: 0.005,
    thousandGets: 0.0004,
    storedGbMonth: 0.023,
  },
  lambda: {
    // Arm.
    gbSecond: 0.0000133334,
    millionRequests: 0.2,
  },
  cloudwatch: {
    metricMonth: 0.3,
    /** Of each metric that an alarm looks at. */
    alarmMonth: 0.1,
    dashboardMonth: 3,
    ingestedGb: 0.5,
    /** Of compressed logs. */
    storedGbMonth: 0.03,
  },
  kms: {
    // A key that AWS manages costs nothing itself; calls of it cost what all do.
    thousandRequests: 0.003,
    ownKeyMonth: 1,
  },
  flink: {
    kpuHour: 0.11,
    /** 50 GB come with each unit that runs the application. */
    runningGbMonth: 0.1,
    runningGbPerKpu: 50,
  },
} as const;

/*
 * The page: one look at the pipeline a second. What comes from records is data: it is only ever set as text.
 */
const REFRESH_MS = 1000;
const ROWS = 25;

const element = (id) => document.getElementById(id);
let views = [];

void refresh();
element('view').addEventListener('change', fillOrders);

async function refresh() {
  try {
    if (views.length === 0) await loadViews();
    showStatus(await get('/v1/status'));
    await showRows();
    element('problem').hidden = true;
  } catch (error) {
    element('problem').textContent = `${error.message} Trying again each second.`;
    element('problem').hidden = false;
  }
  setTimeout(refresh, REFRESH_MS);
}

async function get(path) {
  let response;
  try {
    response = await fetch(path);
  } catch {
    throw new Error('tidemark dev does not answer.');
  }
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail ?? body.title);
  return body;
}

async function loadViews() {
  ({ views } = await get('/v1/views'));
  element('view').replaceChildren(...views.map(({ name }) => new Option(name, name)));
  fillOrders();
}

function fillOrders() {
  const view = views.find(({ name }) => name === element('view').value);
  const names = Object.entries(view?.aggregates ?? {}).flatMap(([name, aggregate]) =>
    aggregate.at === undefined ? [name] : aggregate.at.map((rank) => `${name}.${rank}`),
  );
  const counts = names.find((name) => view.aggregates[name]?.count !== undefined);
  element('order').replaceChildren(...names.map((name) => new Option(name, name)));
  if (counts !== undefined) element('order').value = counts;
}

function showStatus(status) {
  element('pipeline').textContent = `· ${status.pipeline}`;
  const totals = [
    ...Object.entries(status.records).map(([name, count]) => [name, amount(count)]),
    ['watermark', time(status.watermark)],
  ];
  element('totals').replaceChildren(
    ...totals.map(([name, value]) => {
      const group = document.createElement('div');
      group.append(cell('dt', name), cell('dd', value));
      return group;
    }),
  );
  const columns = [
    'slice',
    'state',
    'epoch',
    'behind',
    'checkpoint age',
    'entries',
    'state',
    'watermark',
  ];
  const rows = status.slices.map((slice) => [
    slice.id,
    slice.state,
    slice.epoch,
    duration(slice.behindMs),
    duration(slice.checkpointAgeMs),
    slice.entries,
    bytes(slice.stateBytes),
    time(slice.watermark),
  ]);
  fill(element('slices'), columns, rows);
}

async function showRows() {
  const view = element('view').value;
  const order = element('order').value;
  const query = new URLSearchParams({
    limit: ROWS,
    ...(order === '' ? {} : { order: `-${order}` }),
  });
  const answer = await get(`/v1/views/${encodeURIComponent(view)}?${query}`);
  const [first] = answer.rows;
  const complete = answer.complete ? 'complete' : 'not complete yet';
  element('as-of').textContent = `as of watermark ${time(answer.watermark)}, ${complete}`;
  if (first === undefined) {
    fill(element('rows'), ['no rows yet'], []);
    return;
  }
  const keys = Object.keys(first.key);
  const values = Object.keys(first.values);
  const windows = first.window === null ? [] : ['window', 'closed'];
  const rows = answer.rows.map((row) => [
    ...keys.map((key) => row.key[key]),
    ...(row.window === null ? [] : [time(row.window.start), row.closed ? 'yes' : 'no']),
    ...values.map((value) => row.values[value]),
  ]);
  fill(element('rows'), [...keys, ...windows, ...values], rows);
}

function fill(table, columns, rows) {
  const isNumeric = columns.map((_, index) => rows.some((row) => typeof row[index] === 'number'));
  const line = (cells, tag) => {
    const tr = document.createElement('tr');
    tr.append(
      ...cells.map((value, index) => {
        const td = cell(tag, text(value));
        if (isNumeric[index]) td.className = 'number';
        return td;
      }),
    );
    return tr;
  };
  table.replaceChildren(line(columns, 'th'), ...rows.map((row) => line(row, 'td')));
}

function cell(tag, value) {
  const made = document.createElement(tag);
  made.textContent = value;
  return made;
}

function text(value) {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'number') return amount(value);
  if (typeof value !== 'object') return String(value);
  return Object.entries(value)
    .map(([name, part]) => `${name}: ${text(part)}`)
    .join('  ');
}

function amount(value) {
  return value.toLocaleString('en-US', { maximumFractionDigits: 3 });
}

function duration(ms) {
  if (ms === null) return 'none yet';
  return ms < 1000 ? `${ms} ms` : `${amount(Math.round(ms / 100) / 10)} s`;
}

function bytes(count) {
  return count < 1024 ? `${count} B` : `${amount(Math.round(count / 102.4) / 10)} KiB`;
}

function time(iso) {
  return iso === null ? 'none yet' : iso.replace('T', ' ').replace('.000Z', 'Z');
}

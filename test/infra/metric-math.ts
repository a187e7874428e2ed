/**
 * CloudWatch's metric math, as far as the alarms use it: numbers, metrics by id, `+ - * /`, `>=`, FILL, IF, SUM of a list.
 * A period in which an operand is missing is missing in the result; SUM of a list passes over what is missing.
 */

/** By period, the oldest first; null is missing. */
export type Series = readonly (number | null)[];

const TOKEN = /\s*(?:(\d+(?:\.\d+)?)|([A-Za-z_]\w*)|(>=|[-+*/(),[\]]))/y;

export function evaluateExpression(
  expression: string,
  metrics: ReadonlyMap<string, Series>,
  count: number,
): Series {
  const parser = new Parser(tokensOf(expression), metrics, count);
  return parser.whole();
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const match = TOKEN.exec(text);
    if (match === null) throw new Error(`not metric math: ${text}`);
    tokens.push(match[1] ?? match[2] ?? match[3] ?? '');
  }
  return tokens;
}

class Parser {
  readonly #tokens: string[];
  readonly #metrics: ReadonlyMap<string, Series>;
  readonly #count: number;

  constructor(tokens: string[], metrics: ReadonlyMap<string, Series>, count: number) {
    this.#tokens = tokens;
    this.#metrics = metrics;
    this.#count = count;
  }

  whole(): Series {
    const series = this.#comparison();
    if (this.#tokens.length > 0) throw new Error(`metric math ends before ${this.#tokens[0]}`);
    return series;
  }

  #comparison(): Series {
    const left = this.#sum();
    if (!this.#take('>=')) return left;
    return zip(left, this.#sum(), (a, b) => (a >= b ? 1 : 0));
  }

  #sum(): Series {
    let series = this.#product();
    for (;;) {
      if (this.#take('+')) series = zip(series, this.#product(), (a, b) => a + b);
      else if (this.#take('-')) series = zip(series, this.#product(), (a, b) => a - b);
      else return series;
    }
  }

  #product(): Series {
    let series = this.#value();
    for (;;) {
      if (this.#take('*')) series = zip(series, this.#value(), (a, b) => a * b);
      else if (this.#take('/')) series = zip(series, this.#value(), (a, b) => a / b);
      else return series;
    }
  }

  #value(): Series {
    if (this.#take('(')) {
      const series = this.#comparison();
      this.#expect(')');
      return series;
    }
    const token = this.#tokens.shift() ?? '';
    if (/^\d/.test(token)) return this.#constant(Number(token));
    if (this.#take('(')) return this.#call(token);
    const series = this.#metrics.get(token);
    if (series === undefined) throw new Error(`the alarm has no metric ${token}`);
    return series;
  }

  #call(name: string): Series {
    switch (name) {
      case 'FILL':
        return this.#fill();
      case 'IF': {
        const [condition, then, otherwise] = this.#list(')') as [Series, Series, Series];
        return condition.map((holds, at) => {
          if (holds === null) return null;
          return (holds === 0 ? otherwise[at] : then[at]) ?? null;
        });
      }
      case 'SUM': {
        this.#expect('[');
        const all = this.#list(']');
        this.#expect(')');
        return this.#constant(0).map((_, at) => {
          const there = all.map((series) => series[at] ?? null).filter((value) => value !== null);
          return there.length === 0 ? null : there.reduce((sum, value) => sum + value, 0);
        });
      }
      default:
        throw new Error(`the function ${name} is not evaluated here`);
    }
  }

  #fill(): Series {
    const series = this.#comparison();
    this.#expect(',');
    if (this.#take('REPEAT')) {
      this.#expect(')');
      let last: number | null = null;
      return series.map((value) => {
        last = value ?? last;
        return last;
      });
    }
    const [filling] = this.#list(')') as [Series];
    return series.map((value, at) => value ?? filling[at] ?? null);
  }

  #list(end: string): Series[] {
    const all = [this.#comparison()];
    while (this.#take(',')) all.push(this.#comparison());
    this.#expect(end);
    return all;
  }

  #constant(value: number): Series {
    return Array.from({ length: this.#count }, () => value);
  }

  #take(token: string): boolean {
    if (this.#tokens[0] !== token) return false;
    this.#tokens.shift();
    return true;
  }

  #expect(token: string): void {
    if (!this.#take(token))
      throw new Error(`metric math has ${this.#tokens[0]}, expected ${token}`);
  }
}

function zip(left: Series, right: Series, work: (a: number, b: number) => number): Series {
  return left.map((a, at) => {
    const b = right[at] ?? null;
    return a === null || b === null ? null : work(a, b);
  });
}

// The benchmarks' side of the js peer; what the words mean is in ../README.md.

const LONGEST_SILENCE = 30_000
// Messages published before the event loop has its turn.
const BURST = 16

const turn = () => new Promise((resolve) => setImmediate(resolve))
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))

// CLOCK_REALTIME in nanoseconds. Node tells it in milliseconds only, so from one of its ticks on it
// is carried by the steady clock; for each benchmark anew, because the two drift apart.
function wallClock () {
  const before = Date.now()
  while (Date.now() === before);
  const offset = BigInt(Date.now()) * 1_000_000n - process.hrtime.bigint()
  return () => offset + process.hrtime.bigint()
}

// Wall-clock time and CPU time of the whole process from here on.
function stopwatch () {
  const [started, cpuAtStart] = [performance.now(), process.cpuUsage()]
  return () => {
    const { user, system } = process.cpuUsage(cpuAtStart)
    return {
      seconds: (performance.now() - started) / 1e3,
      cpu_seconds: (user + system) / 1e6
    }
  }
}

function percentile (sorted, share) {
  return sorted[Math.max(Math.ceil(share * sorted.length), 1) - 1] ?? null
}

export class Bench {
  #pubsub
  #say
  #copies
  #now = wallClock()
  #receiving = null
  #collecting = null
  #publishing = null

  // copies: how many messages came in so far, with repetitions; null where no one counts
  constructor (pubsub, say, copies) {
    this.#pubsub = pubsub
    this.#say = say
    this.#copies = copies
  }

  // Returns true if the message belongs to a benchmark and is not to be printed.
  takes ({ topic, data }) {
    if (topic === this.#collecting?.topic) {
      this.#collecting.arrivals.push([Buffer.from(data.subarray(0, 16)), this.#now()])
    } else if (topic === this.#receiving?.topic) {
      this.#receiveOne()
    } else if (topic === this.#publishing?.acknowledgements) {
      this.#publishing.acknowledged(Number(Buffer.from(data).readBigUInt64BE()))
    } else {
      return false
    }
    return true
  }

  #stamped (index, size) {
    const data = Buffer.alloc(Math.max(size, 16), '.')
    data.writeBigUInt64BE(this.#now())
    data.writeBigUInt64BE(BigInt(index), 8)
    return data
  }

  // ---- a window

  receive ({ topic, count, window }) {
    this.#pubsub.subscribe(topic)
    const every = Math.max(Math.floor(window / 2), 1)
    this.#receiving = { topic, count, every, received: 0, read: null }
    return { topic }
  }

  #receiveOne () {
    const receiving = this.#receiving
    receiving.read ??= stopwatch()
    receiving.received++
    const complete = receiving.received >= receiving.count
    if (complete) {
      const { topic, received: count } = receiving
      this.#say('bench', { role: 'subscriber', topic, count, ...receiving.read() })
      this.#receiving = null
    }
    if (complete || receiving.received % receiving.every === 0) {
      this.#acknowledge(receiving)
    }
  }

  #acknowledge ({ topic, received }) {
    const complain = (problem) => this.#say('error', { do: 'bench_receive', problem })
    const data = Buffer.alloc(16)
    data.writeBigUInt64BE(BigInt(received))
    data.writeBigUInt64BE(this.#now(), 8)
    this.#pubsub.publish(`${topic}/ack`, data).then(
      ({ recipients }) => recipients.length > 0 || complain('no one takes the acknowledgement'),
      (error) => complain(error.message)
    )
  }

  async publish ({ topic, count, size, window }) {
    this.#now = wallClock()
    const credit = this.#publishing = new Credit(`${topic}/ack`, count, window)
    const read = stopwatch()
    try {
      for (let index = 0; index < count; index++) {
        await credit.wait(index)
        const { recipients } = await this.#pubsub.publish(topic, this.#stamped(index, size))
        if (recipients.length === 0) {
          throw new Error('no one is subscribed')
        }
        if (index % BURST === BURST - 1) {
          await turn()
        }
      }
      await credit.wait(Infinity)
    } finally {
      this.#publishing = null
    }
    this.#say('bench', { role: 'publisher', topic, count, ...read() })
  }

  // ---- a steady rate

  async rate ({ topic, rate, count, size }) {
    this.#now = wallClock()
    const [read, started] = [stopwatch(), performance.now()]
    let [failed, latest] = [0, 0]
    for (let index = 0; index < count; index++) {
      const due = started + index * 1e3 / rate
      while (performance.now() < due) {
        await sleep(due - performance.now())
      }
      latest = Math.max(latest, performance.now() - due)
      // Not awaited: a slow signature must not slow down the rate.
      this.#pubsub.publish(topic, this.#stamped(index, size)).then(
        ({ recipients }) => { failed += recipients.length === 0 ? 1 : 0 },
        () => { failed++ }
      )
    }
    await turn()
    this.#say('bench', { role: 'publisher', topic, count, ...read(), failed, latest_ms: latest })
  }

  reset ({ topic }) {
    this.#now = wallClock()
    this.#collecting = { topic, read: stopwatch(), copies: this.#copies(), arrivals: [] }
    return { topic }
  }

  report () {
    if (this.#collecting === null) {
      throw new Error('bench_reset comes first')
    }
    const { topic, read, copies, arrivals } = this.#collecting
    const times = read()
    const latencies = arrivals
      .map(([header, arrived]) => Number(arrived - header.readBigUInt64BE()) / 1e6)
      .sort((one, other) => one - other)
    return {
      topic,
      received: arrivals.length,
      distinct: new Set(arrivals.map(([header]) => header.toString('hex'))).size,
      p50_ms: percentile(latencies, 0.50),
      p99_ms: percentile(latencies, 0.99),
      max_ms: latencies.at(-1) ?? null,
      copies: copies === null ? null : this.#copies() - copies,
      ...times
    }
  }
}

// How many messages may be sent before the next acknowledgement.
class Credit {
  #count
  #window
  #received = 0
  #wake = () => {}

  constructor (acknowledgements, count, window) {
    this.acknowledgements = acknowledgements
    this.#count = count
    this.#window = window
  }

  acknowledged (received) {
    this.#received = Math.max(received, this.#received)
    this.#wake()
  }

  // Until this message may be sent, or until all are acknowledged.
  async wait (index) {
    while (this.#received < this.#count && index - this.#received >= this.#window) {
      await this.#news()
    }
  }

  #news () {
    return new Promise((resolve, reject) => {
      const problem = () => reject(new Error(
        `no acknowledgement for ${LONGEST_SILENCE / 1e3} s, ${this.#received} so far`
      ))
      const timer = setTimeout(problem, LONGEST_SILENCE)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

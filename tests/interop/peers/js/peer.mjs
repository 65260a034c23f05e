// A js-libp2p node that is driven by JSON lines: commands on stdin, events on stdout.
// The language is written down in ../README.md; --options is merged into the router's own.
//
// The program ends with its stdin, so it cannot outlive the test that started it.

import { createHash } from 'node:crypto'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'

import { Bench } from './bench.mjs'

// libp2p 3 expects a newer Node than version 20, for the sake of this one function.
Promise.withResolvers ??= function () {
  const handle = {}
  handle.promise = new this((resolve, reject) => Object.assign(handle, { resolve, reject }))
  return handle
}

// Only now: static imports would run before the line above.
const { createLibp2p } = await import('libp2p')
const { tcp } = await import('@libp2p/tcp')
const { noise } = await import('@libp2p/noise')
const { yamux } = await import('@libp2p/yamux')
const { identify } = await import('@libp2p/identify')
const { ping } = await import('@libp2p/ping')
const { gossipsub } = await import('@libp2p/gossipsub')
const { floodsub } = await import('@libp2p/floodsub')
const { multiaddr } = await import('@multiformats/multiaddr')

const { values: settings } = parseArgs({
  options: {
    router: { type: 'string', default: 'gossipsub' },
    listen: { type: 'string', multiple: true, default: [] },
    dial: { type: 'string', multiple: true, default: [] },
    topic: { type: 'string', multiple: true, default: [] },
    policy: { type: 'string', default: 'StrictSign' },
    'message-id': { type: 'string' },
    options: { type: 'string', default: '{}' },
    kademlia: { type: 'string' },
    'kademlia-protocol': { type: 'string', default: '/ipfs/kad/1.0.0' },
    bootstrap: { type: 'string', multiple: true, default: [] },
    mdns: { type: 'string', default: 'off' }
  }
})

function say (event, fields = {}) {
  process.stdout.write(JSON.stringify({ event, ...fields }) + '\n')
}

// gossipsub transforms every copy, before it looks for duplicates.
let copies = 0
const copyCounter = {
  inboundTransform (topic, data) {
    copies++
    return data
  },
  outboundTransform: (topic, data) => data
}

function originBytes ({ from, sequenceNumber }) {
  const number = Buffer.alloc(8)
  number.writeBigUInt64BE(sequenceNumber)
  return Buffer.concat([from.toMultihash().bytes, number])
}

const sha256 = ({ data }) => createHash('sha256').update(data).digest()

// Without an entry here: the library's own, js_pubkey when signed and sha256 when not.
const messageIds = { origin_bytes: originBytes, sha256, js_pubkey: undefined }

function makeRouter () {
  const common = { globalSignaturePolicy: settings.policy, ...JSON.parse(settings.options) }
  if (settings.router === 'floodsub') {
    return floodsub(common)
  }
  const profile = settings['message-id']
  if (profile !== undefined && !Object.hasOwn(messageIds, profile)) {
    throw new Error(`no such message id: ${profile}`)
  }
  return gossipsub({
    allowPublishToZeroTopicPeers: true,
    // All peers of a test share one address, which would count as an attack.
    scoreParams: { IPColocationFactorWhitelist: new Set(['127.0.0.1', '::1']) },
    dataTransform: copyCounter,
    msgIdFn: messageIds[profile],
    ...common
  })
}

// Nothing of it is there unless it is asked for.
const finds = settings.kademlia !== undefined || settings.mdns === 'on'
const { Discovery } = finds ? await import('./discovery.mjs') : {}
const discovery = finds ? new Discovery(settings, say) : undefined

const node = await createLibp2p({
  addresses: { listen: settings.listen },
  transports: [tcp()],
  connectionEncrypters: [noise()],
  streamMuxers: [yamux()],
  // Tests connect many nodes from one address at once; the stock limit is five a second.
  connectionManager: {
    inboundConnectionThreshold: 1_000_000,
    maxIncomingPendingConnections: 10_000,
    maxConnections: 10_000
  },
  peerDiscovery: discovery?.peerDiscovery(),
  services: {
    identify: identify(), ping: ping(), pubsub: makeRouter(), ...discovery?.services()
  }
})
const pubsub = node.services.pubsub
const bench = new Bench(pubsub, say, () => settings.router === 'gossipsub' ? copies : null)

function pubsubStreams (connections) {
  return connections.flatMap((connection) => connection.streams)
    .filter((stream) => /^\/(meshsub|floodsub)\//.test(stream.protocol ?? ''))
}

// What js-libp2p settled on with a peer: the protocol of its own stream and of the peer's.
function describePeer (peerId) {
  const connections = node.getConnections(peerId)
  const streams = pubsubStreams(connections)
  const protocolOf = (direction) =>
    streams.find((stream) => stream.direction === direction)?.protocol ?? null
  return {
    id: peerId.toString(),
    addresses: connections.map((connection) => connection.remoteAddr.toString()),
    sends_on: protocolOf('outbound'),
    receives_on: protocolOf('inbound')
  }
}

// The routers write without looking at the stream's buffer, so a burst must be held back here.
async function letPeersKeepUp () {
  const full = pubsubStreams(node.getConnections())
    .filter((stream) => stream.direction === 'outbound' && stream.writableNeedsDrain)
  await Promise.all(full.map((stream) => stream.onDrain().catch(() => {})))
  await new Promise((resolve) => setImmediate(resolve))
}

async function publishMany ({ topic, count, size = 0, prefix = '' }) {
  let fewest = Infinity
  for (let index = 0; index < count; index++) {
    const text = (prefix + String(index).padStart(8, '0')).padEnd(size, '.')
    const { recipients } = await pubsub.publish(topic, Buffer.from(text))
    fewest = Math.min(fewest, recipients.length)
    await letPeersKeepUp()
  }
  return { topic, count, fewest_recipients: count > 0 ? fewest : 0 }
}

const names = (peerIds) => peerIds.map((peerId) => peerId.toString())

const commands = {
  async publish ({ topic, data_base64: data }) {
    const { recipients } = await pubsub.publish(topic, Buffer.from(data, 'base64'))
    return { topic, recipients: names(recipients) }
  },
  publish_many: publishMany,
  async subscribe ({ topic }) {
    pubsub.subscribe(topic)
    return { topic }
  },
  async unsubscribe ({ topic }) {
    pubsub.unsubscribe(topic)
    return { topic }
  },
  async dial ({ address }) {
    const connection = await node.dial(multiaddr(address))
    return { address, id: connection.remotePeer.toString() }
  },
  async peers () {
    return { peers: node.getPeers().map(describePeer) }
  },
  async mesh ({ topic }) {
    // floodsub has no mesh: it sends to all that are subscribed
    const peers = pubsub.getMeshPeers?.(topic) ?? names(pubsub.getSubscribers(topic))
    return { topic, peers: peers.sort() }
  },
  async scores () {
    const scored = (id) => [id, { score: pubsub.score.score(id) }]
    return { peers: Object.fromEntries(names(node.getPeers()).map(scored)) }
  },
  async provide (command) {
    return finder().provide(command)
  },
  async find (command) {
    return finder().find(command)
  },
  async find_peer (command) {
    return finder().findPeer(command)
  },
  async routing_table () {
    return finder().routingTable()
  },
  async bench_publish (command) {
    pubsub.subscribe(`${command.topic}/ack`)
    inBackground(command, bench.publish(command))
    return { topic: command.topic }
  },
  async bench_receive (command) {
    return bench.receive(command)
  },
  async bench_rate (command) {
    inBackground(command, bench.rate(command))
    return { topic: command.topic }
  },
  async bench_reset (command) {
    return bench.reset(command)
  },
  async bench_report () {
    return bench.report()
  },
  async stop () {
    await node.stop()
    return {}
  }
}

function finder () {
  if (discovery === undefined) {
    throw new Error('no way to find others is on: --kademlia, --mdns')
  }
  return discovery
}

function listen () {
  node.addEventListener('peer:connect', ({ detail }) => {
    say('peer', { id: detail.toString(), state: 'connected' })
  })
  node.addEventListener('peer:identify', ({ detail }) => {
    const { peerId, protocols, agentVersion } = detail
    say('peer', { id: peerId.toString(), state: 'identified', protocols, agent: agentVersion })
  })
  node.addEventListener('peer:disconnect', ({ detail }) => {
    say('peer', { id: detail.toString(), state: 'disconnected' })
  })
  pubsub.addEventListener('subscription-change', ({ detail }) => {
    say('subscription-change', { id: detail.peerId.toString(), subscriptions: detail.subscriptions })
  })
  pubsub.addEventListener('message', ({ detail: message }) => {
    if (bench.takes(message)) {
      return
    }
    say('message', {
      topic: message.topic,
      data_base64: Buffer.from(message.data).toString('base64'),
      from: message.from?.toString() ?? null,
      // a 64-bit number does not fit into a number of JavaScript
      seqno: message.sequenceNumber?.toString() ?? null
    })
  })
}

function complain (command, error) {
  say('error', { do: command.do, problem: `${error.name}: ${error.message}` })
}

function inBackground (command, work) {
  work.catch((error) => complain(command, error))
}

async function obey (command) {
  try {
    if (!Object.hasOwn(commands, command.do)) {
      throw new Error(`no such command: ${command.do}`)
    }
    say(command.do, await commands[command.do](command))
  } catch (error) {
    complain(command, error)
  }
}

// Also while a command is under way.
process.stdin.once('close', () => process.exit(0))

listen()
settings.topic.forEach((topic) => pubsub.subscribe(topic))
say('ready', { id: node.peerId.toString(), addresses: names(node.getMultiaddrs()) })
await discovery?.begin(node)
for (const address of settings.dial) {
  await obey({ do: 'dial', address })
}
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line)
  await obey(command)
  if (command.do === 'stop') {
    break
  }
}
process.exit(0)

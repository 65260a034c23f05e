// A bittorrent-dht node that is driven by JSON lines: commands on stdin, events on stdout.
// The language is written down in ../README.md. Values are bencoded, then in base64.
//
// The program ends with its stdin, so it cannot outlive the test that started it.

import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'

import bencode from 'bencode'
import DHT from 'bittorrent-dht'

const { values: settings } = parseArgs({
  options: {
    listen: { type: 'string' },
    dial: { type: 'string', multiple: true, default: [] }
  }
})

function say (event, fields = {}) {
  process.stdout.write(JSON.stringify({ event, ...fields }) + '\n')
}

// ---- Ed25519 of Node itself: raw keys get the head that names them

const PUBLIC_HEAD = Buffer.from('302a300506032b6570032100', 'hex')
const SEED_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

const publicKey = (raw) =>
  createPublicKey({ key: Buffer.concat([PUBLIC_HEAD, raw]), format: 'der', type: 'spki' })
const privateKey = (seed) =>
  createPrivateKey({ key: Buffer.concat([SEED_HEAD, seed]), format: 'der', type: 'pkcs8' })
const rawPublicKey = (key) =>
  createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(PUBLIC_HEAD.length)

// ---- the node

const [host, port] = settings.listen.split(':')
const dht = new DHT({
  // Never left out: without it, the library asks nodes of the public DHT.
  bootstrap: settings.dial.length > 0 ? settings.dial : false,
  // Clients that only ask get into its table, and it waits so long for each. On loopback that is
  // ample; 2000 by default.
  timeout: 700,
  verify: (signature, payload, raw) => verify(null, payload, publicKey(raw), signature)
})
dht.on('error', (error) => say('trouble', { what: error.message }))
dht.on('announce', (peer, infoHash) => {
  say('announced', { target: infoHash.toString('hex'), peer: `${peer.host}:${peer.port}` })
})

const buffer = (raw) => Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
const base64 = (raw) => buffer(raw).toString('base64')
const node = (address) => ({ host: address.split(':')[0], port: Number(address.split(':')[1]) })
const promised = (work) => new Promise((resolve, reject) => {
  work((error, ...results) => error ? reject(error) : resolve(results))
})

const commands = {
  async get ({ target, salt_base64: salt }) {
    const options = { salt: salt ? Buffer.from(salt, 'base64') : undefined, cache: false }
    const [found] = await promised((done) => dht.get(target, options, done))
    if (!found) {
      return { target, seq: null, value_base64: null }
    }
    return {
      target,
      seq: found.seq,
      value_base64: base64(bencode.encode(found.v)),
      public_key: buffer(found.k).toString('hex')
    }
  },
  async put ({ seed, salt_base64: salt, seq, value_base64: value, cas }) {
    const secret = privateKey(Buffer.from(seed, 'hex'))
    const options = {
      k: rawPublicKey(secret),
      seq,
      v: bencode.decode(Buffer.from(value, 'base64')),
      sign: (payload) => sign(null, payload, secret)
    }
    if (salt) options.salt = Buffer.from(salt, 'base64')
    if (cas !== undefined) options.cas = cas
    const [target, stored] = await promised((done) => dht.put(options, done))
    return { target: buffer(target).toString('hex'), stored }
  },
  async dial ({ address }) {
    dht.addNode(node(address))
    return { address, id: null }
  },
  async peers () {
    const nodes = dht.toJSON().nodes
    return { peers: nodes.map(({ host, port }) => `${host}:${port}`) }
  },
  async announce ({ target, port }) {
    const [stored] = await promised((done) => dht.announce(target, port, done))
    return { target, stored: stored ?? null }
  },
  async lookup ({ target }) {
    const found = new Set()
    const listen = (peer) => found.add(`${peer.host}:${peer.port}`)
    dht.on('peer', listen)
    await promised((done) => dht.lookup(target, done))
    dht.off('peer', listen)
    return { target, peers: [...found].sort() }
  },
  async stop () {
    await promised((done) => dht.destroy(done))
    return {}
  }
}

async function obey (command) {
  try {
    if (!Object.hasOwn(commands, command.do)) {
      throw new Error(`no such command: ${command.do}`)
    }
    say(command.do, await commands[command.do](command))
  } catch (error) {
    say('error', { do: command.do, problem: `${error.name}: ${error.message}` })
  }
}

// Also while a command is under way.
process.stdin.once('close', () => process.exit(0))

await new Promise((resolve) => dht.listen(Number(port), host, resolve))
if (!dht.ready) {
  await new Promise((resolve) => dht.once('ready', resolve))
}
const { address, port: chosen } = dht.address()
say('ready', { id: buffer(dht.nodeId).toString('hex'), addresses: [`${address}:${chosen}`] })
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line)
  await obey(command)
  if (command.do === 'stop') {
    break
  }
}
process.exit(0)

// The forwarder of NDNts, which comes without management: programs that are connected to it register
// their prefixes with the few lines of ours below. The language is written down in ../README.md.
//
// The program ends with its stdin, so it cannot outlive the test that started it.

import { rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'

import { Forwarder, FwPacket } from '@ndn/fw'
import { L3Face, StreamTransport } from '@ndn/l3face'
import { Data, digestSigning, Interest, Name } from '@ndn/packet'
import { Decoder, Encoder, NNI } from '@ndn/tlv'

const { values: settings } = parseArgs({
  options: { tcp: { type: 'string' }, unix: { type: 'string' } }
})

function say (event, fields = {}) {
  process.stdout.write(JSON.stringify({ event, ...fields }) + '\n')
}

const RIB = new Name('/localhost/nfd/rib')
const TYPES = { parameters: 0x68, response: 0x65, code: 0x66, text: 0x67 }

const forwarder = Forwarder.create()

// ---- registration: both forms of commands have the parameters in the component after the verb

function prefixOf (component) {
  const parameters = new Decoder(component.value).read()
  if (parameters.type !== TYPES.parameters) throw new Error('no control parameters')
  return parameters.vd.decode(Name)
}

async function answer (interest, code, text) {
  // python-ndn cannot read an answer without the parameters: it gets back what it sent.
  const content = Encoder.encode([TYPES.response,
    [TYPES.code, NNI(code)], [TYPES.text, new TextEncoder().encode(text)],
    code === 200 ? interest.name.at(4).value : undefined])
  const data = new Data(interest.name, Data.FreshnessPeriod(0), content)
  await digestSigning.sign(data)
  return FwPacket.create(data)
}

async function obey (face, interest) {
  const verb = interest.name.at(3).text
  try {
    const prefix = prefixOf(interest.name.at(4))
    if (verb === 'register') face.addRoute(prefix, false)
    else if (verb === 'unregister') face.removeRoute(prefix, false)
    else return await answer(interest, 501, 'unknown command')
    return await answer(interest, 200, 'OK')
  } catch (error) {
    return await answer(interest, 400, error.message)
  }
}

// ---- faces: commands are taken out of what comes in, their answers join what goes out

class Outgoing {
  #waiting = []
  #wake = () => {}
  #ended = false

  push (packet) {
    this.#waiting.push(packet)
    this.#wake()
  }

  end () {
    this.#ended = true
    this.#wake()
  }

  async * [Symbol.asyncIterator] () {
    while (true) {
      while (this.#waiting.length > 0) yield this.#waiting.shift()
      if (this.#ended) return
      await new Promise((resolve) => { this.#wake = resolve })
    }
  }
}

function attach (socket) {
  socket.on('error', () => socket.destroy())
  const lower = new L3Face(new StreamTransport(socket, { describe: 'client' }), { local: true })
  const outgoing = new Outgoing()
  lower.tx(outgoing)

  const incoming = (async function * () {
    for await (const packet of lower.rx) {
      const { l3, token } = packet
      if (l3 instanceof Interest && RIB.isPrefixOf(l3.name)) {
        const answered = await obey(face, l3)
        answered.token = token
        outgoing.push(answered)
      } else {
        yield packet
      }
    }
  })()
  const face = forwarder.addFace({
    rx: incoming,
    tx: (packets) => {
      (async () => {
        for await (const packet of packets) outgoing.push(packet)
        outgoing.end()
      })()
    },
    attributes: { local: true, advertiseFrom: false }
  })
  socket.on('close', () => face.close())
}

// ---- listening

const places = [
  ...(settings.tcp ? [{ host: '127.0.0.1', port: Number(settings.tcp) }] : []),
  ...(settings.unix ? [{ path: settings.unix }] : [])
]
if (settings.unix) rmSync(settings.unix, { force: true }) // of an earlier life
for (const place of places) {
  await new Promise((resolve, reject) => {
    createServer(attach).on('error', reject).listen(place, resolve)
  })
}
say('ready', { id: 'NDNts', addresses: [] })

const lines = createInterface({ input: process.stdin })
lines.on('line', () => process.exit(0)) // nothing but `stop` is ever said to it
lines.on('close', () => process.exit(0))

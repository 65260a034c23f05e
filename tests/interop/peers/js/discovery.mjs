// Ways to find other nodes: Kademlia and mDNS. js-libp2p has no rendezvous.
//
// Loaded by peer.mjs when the command line asks for one of them.

import { createHash } from 'node:crypto'

import { kadDHT, passthroughMapper } from '@libp2p/kad-dht'
import { mdns } from '@libp2p/mdns'
import { multiaddr } from '@multiformats/multiaddr'
import { peerIdFromString } from '@libp2p/peer-id'
import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import * as Digest from 'multiformats/hashes/digest'

const SHA2_256 = 0x12

// Under which a node says that it takes part in a topic, as the others do: the hash of the
// namespace that go-libp2p-pubsub gives to a topic.
function keyOfTopic (topic) {
  const hash = createHash('sha256').update(`floodsub:${topic}`).digest()
  return CID.createV1(raw.code, Digest.create(SHA2_256, hash))
}

const hexOf = (key) => Buffer.from(key.multihash.bytes).toString('hex')

const describe = ({ id, multiaddrs }) => ({ id: id.toString(), addresses: multiaddrs.map(String) })

export class Discovery {
  constructor (settings, say) {
    if (settings.kademlia !== undefined && !['client', 'server'].includes(settings.kademlia)) {
      throw new Error(`no such mode of Kademlia: ${settings.kademlia}`)
    }
    this.settings = settings
    this.say = say
    // Whom mDNS found while the node was not ready.
    this.early = []
  }

  // What is put into the options of the node.
  services () {
    const { kademlia: mode, 'kademlia-protocol': protocol } = this.settings
    if (mode === undefined) {
      return {}
    }
    // The stock mapper would drop the addresses of one machine.
    const options = { protocol, clientMode: mode === 'client', peerInfoMapper: passthroughMapper }
    return { kademlia: kadDHT(options) }
  }

  peerDiscovery () {
    return this.settings.mdns === 'on' ? [(components) => this.nearby(components)] : []
  }

  nearby (components) {
    const service = mdns()(components)
    service.addEventListener('peer', ({ detail }) => {
      this.node === undefined ? this.early.push(detail) : this.greet(detail)
    })
    return service
  }

  // Whoever is nearby is connected to. The library finds them anew with every answer.
  greet (peer) {
    this.say('found', { way: 'mdns', ...describe(peer) })
    this.connect(peer).catch((error) => this.complain(peer, error))
  }

  async connect ({ id, multiaddrs }) {
    if (this.node.getConnections(id).length === 0) {
      await this.node.peerStore.merge(id, { multiaddrs })
      await this.node.dial(id)
    }
  }

  complain (peer, error) {
    this.say('trouble', { what: `cannot connect to ${peer.id}: ${error.message}` })
  }

  // The library asks those that it is connected to.
  async begin (node) {
    this.node = node
    this.early.splice(0).forEach((peer) => this.greet(peer))
    for (const address of this.settings.bootstrap) {
      await node.dial(multiaddr(address))
    }
  }

  get kademlia () {
    const service = this.node.services.kademlia
    if (service === undefined) {
      throw new Error('Kademlia is off: --kademlia')
    }
    return service
  }

  // ---- commands

  async provide ({ topic }) {
    const key = keyOfTopic(topic)
    let told = 0
    for await (const event of this.kademlia.provide(key)) {
      told += event.name === 'PEER_RESPONSE' && event.messageName === 'ADD_PROVIDER' ? 1 : 0
    }
    return { topic, key: hexOf(key), told }
  }

  async find ({ topic, dial = false }) {
    const key = keyOfTopic(topic)
    const found = new Map()
    for await (const event of this.kademlia.findProviders(key)) {
      for (const peer of event.name === 'PROVIDER' ? event.providers : []) {
        const name = peer.id.toString()
        if (found.has(name) || peer.id.equals(this.node.peerId)) {
          continue
        }
        found.set(name, describe(peer))
        this.say('found', { way: 'kademlia', ...describe(peer) })
        if (dial) {
          this.connect(peer).catch((error) => this.complain(peer, error))
        }
      }
    }
    return { topic, key: hexOf(key), peers: [...found.values()] }
  }

  async findPeer ({ id }) {
    for await (const event of this.kademlia.findPeer(peerIdFromString(id))) {
      if (event.name === 'FINAL_PEER') {
        return describe(event.peer)
      }
    }
    return { id, addresses: null }
  }

  async routingTable () {
    const peers = [...this.kademlia.routingTable.kb.toIterable()]
    return { peers: peers.map(({ peerId }) => peerId.toString()).sort() }
  }
}

// Package packet moves the packets of Hadoop's RPC over connections: it reads them (Reader), queues and writes them (Outbox), and puts both
// streams into protected tokens once a connection has agreed on that (Sealer, Opener). It knows lengths and tokens, and nothing of what is in a packet.
package packet

import "encoding/binary"

// Start leaves room for a packet's length, which End fills in.
func Start(b []byte) []byte { return append(b, 0, 0, 0, 0) }

// End writes the length of the packet that begins at start.
func End(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

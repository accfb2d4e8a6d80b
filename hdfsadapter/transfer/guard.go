package transfer

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/sasl"
)

// defaultsFor is how long a NameNode's answer counts whether data is encrypted.
const defaultsFor = time.Hour

// Guard protects the connections to the DataNodes of one file system. It is safe for concurrent use.
type Guard struct {
	// NameNode says whether data is encrypted, and by which key.
	NameNode ipc.Invoker
	// Qualities are what connections may have if data isn't encrypted; nil: they aren't protected.
	Qualities sasl.Qualities

	mu      sync.Mutex
	asked   time.Time             // when the NameNode said whether data is encrypted
	encrypt bool                  // what it said
	key     *pb.DataEncryptionKey // nil if there is none yet
}

// Protect proves to a DataNode who asks for a block, if that is needed.
func (g *Guard) Protect(ctx context.Context, conn net.Conn, addr string, tok *pb.Token) (net.Conn, error) {
	key, err := g.encryption(ctx)
	if err != nil {
		return nil, err
	}
	if key == nil && (g.Qualities == nil || privileged(addr)) {
		return conn, nil
	}
	protected, err := Protect(conn, Secret{Token: tok, Key: key}, g.Qualities)
	if errors.Is(err, ErrUnknownKey) {
		g.mu.Lock()
		g.key = nil // another one next time
		g.mu.Unlock()
	}
	return protected, err
}

// encryption returns the key by which data is encrypted, nil if it isn't.
func (g *Guard) encryption(ctx context.Context) (*pb.DataEncryptionKey, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.asked.IsZero() || time.Since(g.asked) > defaultsFor {
		resp, err := protocol.GetServerDefaults.Call(ctx, g.NameNode, &pb.GetServerDefaultsRequest{})
		if err != nil {
			return nil, err
		}
		g.asked, g.encrypt = time.Now(), resp.GetServerDefaults().GetEncryptDataTransfer()
	}
	if !g.encrypt {
		return nil, nil
	}
	if g.key == nil || time.Now().UnixMilli() > int64(g.key.GetExpiryDate()) {
		resp, err := protocol.GetDataEncryptionKey.Call(ctx, g.NameNode, &pb.GetDataEncryptionKeyRequest{})
		if err != nil {
			return nil, err
		}
		if !resp.HasDataEncryptionKey() {
			return nil, errors.New("the NameNode says that data is encrypted, and gives no key")
		}
		g.key = resp.GetDataEncryptionKey()
	}
	return g.key, nil
}

// privileged reports whether root alone could open a port. DataNodes on such ports prove themselves by it, and speak no SASL (Hadoop:
// SaslDataTransferClient).
func privileged(addr string) bool {
	_, text, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port < 1024
}

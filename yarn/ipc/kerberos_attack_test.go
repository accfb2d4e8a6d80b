package ipc_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"syscall"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/kerberos"
	"heddle/yarn/pb"
	"heddle/yarn/sasl"
)

// All that a client has sent, from its handshake to its call, is replayed to another member with the same key, and to the same one. The other has never seen the ticket, and
// has a subkey of its own: it takes no call.
func TestReplayOfAWholeHandshake(t *testing.T) {
	for _, quality := range []sasl.Quality{sasl.Authentication, sasl.Integrity, sasl.Privacy} {
		a, tickets := kerberosWorld(t, "alice")
		a.OwnKey = true // as daemons' (conf/secure)
		b := &kerberos.Acceptor{Principal: a.Principal, Keytab: a.Keytab, Replays: kerberos.NewReplays(), OwnKey: true}
		calls, stolen := make(chan ipc.Call, 1), make(chan ipc.Call, 1)
		cfg := func(a *kerberos.Acceptor) ipc.ServerConfig {
			return ipc.ServerConfig{Auth: ipc.AuthTokenOrKerberos, Secrets: nmSecrets{key: newKey(t)}, Kerberos: a, Protection: sasl.Qualities{quality}}
		}
		_, first := serve(t, cfg(a), whoAmI(calls))
		s, second := serve(t, cfg(b), whoAmI(stolen))
		var w wire
		c := newClient(t, ipc.ClientConfig{Protection: sasl.Qualities{quality}, Dial: w.dial})
		if err := statuses(t, c, first, ipc.Identity{User: "alice@EXAMPLE.COM", Kerberos: tickets}); err != nil {
			t.Fatalf("%v: %v", quality, err)
		}
		<-calls
		w.mu.Lock()
		sent := bytes.Clone(w.sent.Bytes())
		w.mu.Unlock()
		for _, addr := range []string{second, first} {
			again := dialRaw(t, addr)
			_, _ = again.Write(sent)
			again.ended()
			_ = again.Close()
		}
		await.Until(t, "no connection", func() bool { return s.Connections() == 0 })
		select {
		case got := <-stolen:
			t.Errorf("%v: another member takes the call of %+v", quality, got.Peer)
		case got := <-calls:
			t.Errorf("%v: the same member takes the call of %+v again", quality, got.Peer)
		default:
		}
	}
}

// held returns how many bytes this process has on its heap.
func held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// der is a token of GSSAPI's that claims to be so long, and isn't.
func der(claimed uint32, rest int) []byte {
	return append(append([]byte{0x60, 0x84}, binary.BigEndian.AppendUint32(nil, claimed)...), make([]byte, rest)...)
}

// Strangers who claim to send tokens of 1 MiB, 100 MiB and more, in packets or within them, are sent away, and take no memory for that.
func TestKerberosTokensOfEnormousSize(t *testing.T) {
	a, _ := kerberosWorld(t, "alice")
	s, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthTokenOrKerberos, Secrets: nmSecrets{key: newKey(t)}, Kerberos: a}, echo)
	initiate := func(token []byte) []byte {
		auth := saslAuth("KERBEROS", "GSSAPI")
		auth.SetProtocol("rm")
		auth.SetServerId("host.example.com")
		return saslPacket(t, saslMessage(pb.RpcSasl_INITIATE, token, auth))
	}
	before, most := held(), int64(0)
	for name, play := range map[string]func(c *rawConn){
		"a packet of 1 MiB":            func(c *rawConn) { c.begun(1<<20, 64<<10) },
		"a packet of 100 MiB":          func(c *rawConn) { c.begun(100<<20, 64<<10) },
		"a packet of 2 GiB":            func(c *rawConn) { c.begun(1<<31-1, 64<<10) },
		"a token of 1 MiB":             func(c *rawConn) { _, _ = c.Write(initiate(make([]byte, 1<<20))) },
		"a token that claims 1 MiB":    func(c *rawConn) { _, _ = c.Write(initiate(der(1<<20, 100))) },
		"a token that claims 100 MiB":  func(c *rawConn) { _, _ = c.Write(initiate(der(100<<20, 60<<10))) },
		"a token that claims 4 GiB":    func(c *rawConn) { _, _ = c.Write(initiate(der(1<<32-1, 60<<10))) },
		"a wrap that claims 100 MiB":   func(c *rawConn) { _, _ = c.Write(saslPacket(t, saslMessage(pb.RpcSasl_WRAP, der(100<<20, 60<<10)))) },
		"an answer that claims 16 MiB": func(c *rawConn) { _, _ = c.Write(saslPacket(t, saslMessage(pb.RpcSasl_RESPONSE, der(16<<20, 60<<10)))) },
	} {
		for range 20 {
			c := dialRaw(t, addr)
			c.send(preamble(0xdf))
			go play(c)
			c.ended()
			_ = c.Close()
		}
		if most = max(most, held()-before); most > 16<<20 {
			t.Fatalf("after %s the server has %d MiB more", name, most>>20)
		}
	}
	await.Until(t, "no connection", func() bool { return s.Connections() == 0 })
	if got := s.Activity(); got.Requests != 0 {
		t.Errorf("%d bytes are still held", got.Requests)
	}
}

// Ten thousand strangers: 6,000 send nonsense, or tickets of another service, and are sent away; 4,000, as many as one address may have, ask for the server's mechanisms and then
// wait. Each of these costs little memory, each of those little of a processor, an honest caller is served beside them, and nothing is held once they are gone.
func TestTenThousandAnonymousHandshakes(t *testing.T) {
	const waiting, refused = 4000, 6000
	a, tickets := kerberosWorld(t, "alice")
	calls := make(chan ipc.Call, 8)
	s, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthTokenOrKerberos, Secrets: nmSecrets{key: newKey(t)}, Kerberos: a}, whoAmI(calls))
	honest := func() {
		t.Helper()
		c := ipc.NewClient(ipc.ClientConfig{})
		defer c.Close()
		if err := statuses(t, c, addr, ipc.Identity{User: "alice@EXAMPLE.COM", Kerberos: tickets}); err != nil {
			t.Error(err)
		}
		<-calls
	}
	honest()
	before, conns := inUse(), make([]*rawConn, waiting)
	for i := range conns {
		conns[i] = dialRaw(t, addr)
		conns[i].send(preamble(0xdf), saslPacket(t, saslMessage(pb.RpcSasl_NEGOTIATE, nil)))
	}
	for _, c := range conns {
		if len(c.packet()) < 100 {
			t.Fatal("no offer")
		}
	}
	each := (inUse() - before) / waiting
	begun := processorTime(t)
	n := 0
	for _, r := range loadRecordings(t, "kerberos") {
		if r.name != "garbage-token" && r.name != "ticket-of-another-service" {
			continue
		}
		for range refused / 2 {
			n++
			c := dialRaw(t, addr)
			for _, p := range r.packets {
				if p.client {
					c.send(p.raw)
				}
			}
			c.ended()
			_ = c.Close()
		}
	}
	cost := (processorTime(t) - begun) / refused
	honest()
	t.Logf("%d bytes for one that waits, %v of a processor for one that is refused, both ends together", each, cost)
	if n != refused || each > 32<<10 || cost > 5*time.Millisecond {
		t.Errorf("%d refused, %d bytes for one that waits, %v of a processor for one that is refused", n, each, cost)
	}
	for _, c := range conns {
		_ = c.Close()
	}
	await.Until(t, "no connection", func() bool { return s.Connections() == 0 })
	if left := inUse() - before; left > each*waiting/2 { // the test and Go's runtime keep some of it
		t.Errorf("%d bytes are still held", left)
	}
}

// inUse returns how many bytes this process has on its heap and on stacks.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// processorTime returns that of this process.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

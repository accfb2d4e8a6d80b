package daemons

import (
	"bufio"
	"errors"
	"io"
	"net"
	"sync"

	"heddle/rm/raft"
)

// patch is the switch between daemons. It drops the connections of a daemon that is cut off. All members dial the same
// address; raft's greeting tells which one dials.
type patch struct {
	wg sync.WaitGroup

	mu        sync.Mutex
	listeners []net.Listener
	cut       map[string]bool
	all       map[*link]bool
}

type link struct {
	from, to string
	a, b     net.Conn
}

func newPatch() *patch { return &patch{cut: map[string]bool{}, all: map[*link]bool{}} }

// listen opens the address at, over which from reaches to, who listens at target. With from "" the greeting tells who
// dials.
func (p *patch) listen(from, to, at, target string) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.listeners = append(p.listeners, l)
	p.mu.Unlock()
	p.wg.Go(func() { p.serve(l, from, to, target) })
	return nil
}

func (p *patch) serve(l net.Listener, from, to, target string) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.wg.Go(func() { p.carry(c, from, to, target) })
		}
	}
}

func (p *patch) carry(c net.Conn, from, to, target string) {
	defer c.Close()
	in := bufio.NewReader(c)
	var hello string
	if from == "" {
		var err error
		if hello, err = in.ReadString('\n'); err != nil {
			return
		}
		if from, err = raft.Caller(hello); err != nil {
			return // without the greeting no member could be cut off
		}
	}
	k := &link{from: from, to: to, a: c}
	if p.isCut(k) {
		return
	}
	var err error
	if k.b, err = net.Dial("tcp", target); err != nil {
		return
	}
	defer k.b.Close()
	if !p.add(k) {
		return
	}
	defer p.remove(k)
	if _, err := io.WriteString(k.b, hello); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(k.b, in); k.close() })
	both.Go(func() { _, _ = io.Copy(c, k.b); k.close() })
	both.Wait()
}

func (k *link) close() {
	_ = k.a.Close()
	_ = k.b.Close()
}

func (p *patch) isCut(k *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut[k.from] || p.cut[k.to]
}

func (p *patch) add(k *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut[k.from] || p.cut[k.to] {
		return false
	}
	p.all[k] = true
	return true
}

func (p *patch) remove(k *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, k)
}

// isolate cuts a daemon off from the others. join undoes that.
func (p *patch) isolate(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut[id] = true
	for k := range p.all {
		if k.from == id || k.to == id {
			k.close()
		}
	}
}

func (p *patch) join(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.cut, id)
}

func (p *patch) close() {
	p.mu.Lock()
	for _, l := range p.listeners {
		_ = l.Close()
	}
	for k := range p.all {
		k.close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

package attacks

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"heddle/rm"
)

// ports are all that a stranger can reach.
func (x *target) ports() map[string]string {
	all := map[string]string{}
	lead := x.leader()
	for name, key := range map[string]string{
		"clients": rm.ClientAddress, "ApplicationMasters": rm.MasterAddress, "nodes": rm.TrackerAddress, "administrators": rm.AdminAddress, "web": rm.WebAddress,
		"raft": "heddle.raft.address",
	} {
		all[name] = x.Address(lead, key)
	}
	for name, key := range map[string]string{
		"containers": "yarn.nodemanager.address", "localizer": "yarn.nodemanager.localizer.address", "node's web": "yarn.nodemanager.webapp.address",
		"shuffle": "mapreduce.shuffle.port",
	} {
		all[name] = x.Address("nm1", key)
	}
	if c, err := net.Dial("tcp", all["localizer"]); err == nil {
		_ = c.Close()
	} else {
		delete(all, "localizer") // the node localizes by itself, and opens no port for that
	}
	return all
}

const (
	sizeless = "hrpc\x09\x00\x00\x7f\xff\xff\xff" // a request of 2 GB
	large    = "hrpc\x09\x00\x00\x07\xf0\x00\x00" // one of 127 MB, of which the beginning follows
)

// garbage is sent to every port.
func (x *target) garbage() {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1<<16)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	long := make([]byte, 1<<20)
	for i := range long {
		long[i] = 'a'
	}
	pieces := []string{
		string(noise), sizeless, large, "hrpc\x09\x00\xdf\x00\x00\x00\x04\x02\x08\x7f\x00", "hrpc\x63", "GET / HTTP/1.1\r\n\r\n", "GET /" + string(long) + " HTTP/1.1\r\n\r\n",
		"POST /ws/v1/cluster/apps HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999999999999\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET /mapOutput?job=../../etc&reduce=-1&map=../../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "\x00\x00\x00\x00",
	}
	for name, at := range x.ports() {
		for i, p := range pieces {
			c, err := net.Dial("tcp", at)
			if err != nil {
				x.t.Errorf("the port for %s: %v", name, err)
				break
			}
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			_, _ = io.WriteString(c, p) // it may be closed before all is read
			_ = c.(*net.TCPConn).CloseWrite()
			answer, err := io.ReadAll(io.LimitReader(c, 1<<20))
			if e, ok := err.(net.Error); ok && e.Timeout() {
				x.t.Errorf("the port for %s neither answers the %d. piece of garbage nor closes: %.40q, got %.80q", name, i, p, answer)
			}
			_ = c.Close()
		}
	}
}

// slowSenders claim a lot and send a little of it, at every port.
func (x *target) slowSenders() {
	chunk := make([]byte, 1<<20)
	var wg sync.WaitGroup
	for name, at := range x.ports() {
		for range 12 {
			wg.Go(func() {
				c, err := net.Dial("tcp", at)
				if err != nil {
					return // the port defends itself
				}
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(5 * time.Second))
				head := large
				if name == "web" || name == "node's web" || name == "shuffle" {
					head = "POST /ws/v1/cluster/apps?user.name=x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 133169152\r\n\r\n{\"x\":\""
				}
				_, err = io.WriteString(c, head)
				for i := 0; i < 100 && err == nil; i++ {
					_, err = c.Write(chunk)
				}
			})
		}
	}
	wg.Wait()
}

// slowReaders ask for much and read nothing.
func (x *target) slowReaders() {
	var conns []net.Conn
	lead := x.leader()
	for _, path := range []string{"/ws/v1/cluster/apps", "/jmx", "/ws/v1/cluster/scheduler"} {
		for range 20 {
			c, err := net.Dial("tcp", x.Address(lead, rm.WebAddress))
			if err != nil {
				continue
			}
			_ = c.(*net.TCPConn).SetReadBuffer(4096)
			for range 50 {
				_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, x.Address(lead, rm.WebAddress))
			}
			conns = append(conns, c)
		}
	}
	x.unharmed()
	for _, c := range conns {
		_ = c.Close()
	}
}

// idleConnections are more than one client may have.
func (x *target) idleConnections() {
	for name, at := range x.ports() {
		var conns []net.Conn
		for range 600 {
			c, err := net.DialTimeout("tcp", at, time.Second)
			if err != nil {
				break
			}
			conns = append(conns, c)
		}
		if len(conns) == 0 {
			x.t.Errorf("the port for %s can't be reached", name)
		}
		for _, c := range conns {
			_ = c.Close()
		}
	}
}

package hdfsadapter

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"heddle/hdfsadapter/block"
	"heddle/yarn/pb"
)

// badFor is how long a DataNode that failed is used only as a last resort.
const badFor = time.Minute

// dataNodes knows how to reach DataNodes, and which ones failed lately.
type dataNodes struct {
	byName  bool          // reach them by host name instead of IP address
	timeout time.Duration // limit for sending or receiving data

	mu  sync.Mutex
	bad map[string]time.Time // time of the failure by address
}

func newDataNodes(byName bool, timeout time.Duration) *dataNodes {
	return &dataNodes{byName: byName, timeout: timeout, bad: map[string]time.Time{}}
}

// address returns where a DataNode serves blocks.
func address(id *pb.DatanodeID, byName bool) string {
	host := id.GetIpAddr()
	if byName {
		host = id.GetHostName()
	}
	return net.JoinHostPort(host, strconv.FormatUint(uint64(id.GetXferPort()), 10))
}

// dial connects to a DataNode. The end of ctx closes the connection. protect proves who connects.
func (d *dataNodes) dial(ctx context.Context, addr string, protect func(net.Conn) (net.Conn, error)) (*block.Conn, error) {
	conn, err := (&net.Dialer{Timeout: d.timeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	unhook := context.AfterFunc(ctx, func() { _ = conn.Close() })
	protected, err := protect(conn)
	if err != nil {
		unhook()
		_ = conn.Close()
		return nil, err
	}
	c := block.New(protected, addr, d.timeout)
	c.Unhook = unhook
	return c, nil
}

// failed remembers that a DataNode failed.
func (d *dataNodes) failed(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bad[addr] = time.Now()
}

// choose returns the address of the DataNode from which to read a block, or "" if none is left. It follows the
// NameNode's order, which begins with the nearest one. It skips those that skip names, and puts those that failed lately
// last.
func (d *dataNodes) choose(b *pb.LocatedBlock, skip func(id *pb.DatanodeID, addr string) bool) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	second := ""
	for _, at := range b.GetLocs() {
		addr := address(at.GetId(), d.byName)
		if skip(at.GetId(), addr) {
			continue
		}
		if when, bad := d.bad[addr]; bad {
			if time.Since(when) < badFor {
				if second == "" {
					second = addr
				}
				continue
			}
			delete(d.bad, addr)
		}
		return addr
	}
	return second
}

package faults

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/nm/proc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// Clients that ask for all applications, of which there are many, and never read the answer: others submit and read meanwhile, the
// ResourceManager stays small, and disconnects them in the end, a minute after they have stopped reading.
func TestReadersThatDoNotRead(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // it waits for more than a minute
	if !onHeddle {
		return // a stock ResourceManager has no such bounds
	}
	const history, silent = 3000, 40
	c := start(t, hadooplab.Options{Site: map[string]string{"yarn.resourcemanager.max-completed-applications": fmt.Sprint(2 * history)}})
	c.end(history)
	sockets := c.sockets()
	for range silent {
		conn, err := net.Dial("tcp", fmt.Sprintf("localhost:%d", c.Port("rm-http")))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "GET /ws/v1/cluster/apps HTTP/1.1\r\nHost: localhost:%d\r\n\r\n", c.Port("rm-http")); err != nil {
			t.Fatal(err)
		}
	}
	await.Until(t, "they are connected", func() bool { return c.sockets() >= sockets+silent })
	var readers sync.WaitGroup
	for i := range 8 {
		readers.Go(func() {
			d := c.fresh()
			for range 3 {
				id := d.submit("alice", d.submission("alice"))
				if i%2 == 0 {
					if n := len(call(d, protocol.GetApplications, d.as("bob"), &pb.GetApplicationsRequest{}).GetApplications()); n < history {
						t.Errorf("RPC lists %d applications", n)
					}
				} else if status, body := d.rest(http.MethodGet, "/ws/v1/cluster/apps", ""); status != http.StatusOK || strings.Count(body, `"id"`) < history {
					t.Errorf("REST lists %d bytes of applications, status %d", len(body), status)
				}
				d.kill("alice", id)
			}
		})
	}
	readers.Wait()
	peak, err := proc.PeakMemory(c.Daemon("resourcemanager").PID())
	if err != nil || peak > 1<<30 {
		t.Errorf("the ResourceManager has used %d MB, %v", peak>>20, err)
	}
	t.Logf("the ResourceManager has used %d MB", peak>>20)
	await.Slowly(t, "they are disconnected", func() bool { return c.sockets() < sockets+silent/4 })
}

// end makes a history of ended applications whose reports have some kilobytes each.
func (c *cluster) end(n int) {
	c.t.Helper()
	var users sync.WaitGroup
	for range 8 {
		users.Go(func() {
			d := c.fresh()
			for range n / 8 {
				ctx := d.submission("carol")
				ctx.SetApplicationName(strings.Repeat("long name ", 90))
				d.kill("carol", d.submit("carol", ctx))
			}
		})
	}
	users.Wait()
}

// sockets returns how many files and connections the ResourceManager has open.
func (c *cluster) sockets() int {
	c.t.Helper()
	_, body := c.rest(http.MethodGet, "/jmx?qry=java.lang:type=OperatingSystem", "")
	var m struct {
		Beans []struct {
			OpenFileDescriptorCount int
		} `json:"beans"`
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil || len(m.Beans) != 1 {
		c.t.Fatalf("%v: %s", err, body)
	}
	return m.Beans[0].OpenFileDescriptorCount
}

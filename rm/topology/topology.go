// Package topology finds the racks of hosts, as Hadoop's DNSToSwitchMapping does: by a script
// (net.topology.script.file.name), a table (net.topology.table.file.name), or not at all. rm asks it when nodes register
// and when applications ask for hosts.
package topology

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
)

// DefaultRack is the rack of unknown hosts (Hadoop: NetworkTopology.DEFAULT_RACK).
const DefaultRack = "/default-rack"

// scriptPatience limits a run of the script.
const scriptPatience = 30 * time.Second

// Mapping finds racks and caches them. It is safe for concurrent use.
type Mapping struct {
	script string
	table  map[string]string
	log    *logrus.Entry

	running chan struct{} // has an element for each script that runs

	mu    sync.Mutex
	known map[string]string
	asked map[string]chan struct{} // hosts that are being looked up; closed when that has ended
}

const (
	maxScripts = 16      // at once
	maxKnown   = 100_000 // hosts in the cache
)

// New reads the configuration. A table that can't be read is an error.
func New(c *conf.Config, log *logrus.Entry) (*Mapping, error) {
	m := &Mapping{
		known: map[string]string{}, asked: map[string]chan struct{}{}, running: make(chan struct{}, maxScripts), log: log,
	}
	if path, _ := c.Get("net.topology.script.file.name"); path != "" {
		m.script = path
		return m, nil
	}
	if path, _ := c.Get("net.topology.table.file.name"); path != "" {
		var err error
		if m.table, err = readTable(path); err != nil {
			return nil, fmt.Errorf("net.topology.table.file.name: %w", err)
		}
	}
	return m, nil
}

// readTable reads lines with a host and its rack. As Hadoop's TableMapping does, it skips other lines.
func readTable(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	table := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		if fields := strings.Fields(line); len(fields) == 2 && line[0] != '#' {
			table[fields[0]] = fields[1]
		}
	}
	return table, nil
}

// Rack returns the rack of a host, or DefaultRack if it can't be found. It may wait for the script to look this host up. It doesn't wait
// for other hosts' look-ups, unless there are very many.
func (m *Mapping) Rack(host string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if rack, ok := m.known[host]; ok {
		return rack
	}
	asked := m.asked[host]
	if asked == nil {
		return m.ask(host)
	}
	m.mu.Unlock()
	<-asked
	m.mu.Lock()
	if rack, ok := m.known[host]; ok {
		return rack
	}
	return DefaultRack // the same answer as the first caller's
}

// ask looks a host's rack up. It releases the lock meanwhile.
func (m *Mapping) ask(host string) string {
	asked := make(chan struct{})
	m.asked[host] = asked
	m.mu.Unlock()
	rack, err := m.find(host)
	m.mu.Lock()
	delete(m.asked, host)
	close(asked)
	if err != nil {
		m.log.WithError(err).WithField("host", host).Warn("can't find the host's rack, uses " + DefaultRack)
		return DefaultRack // and ask again next time
	}
	for other := range m.known {
		if len(m.known) < maxKnown {
			break
		}
		delete(m.known, other) // any entry: it is looked up again when it is needed
	}
	m.known[host] = rack
	return rack
}

func (m *Mapping) find(host string) (string, error) {
	if m.script == "" {
		if rack, ok := m.table[host]; ok {
			return rack, nil
		}
		return DefaultRack, nil
	}
	m.running <- struct{}{}
	defer func() { <-m.running }()
	ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, m.script, host).Output()
	if err != nil {
		return "", fmt.Errorf("net.topology.script.file.name: %s %s: %w", m.script, host, err)
	}
	racks := strings.Fields(string(out))
	if len(racks) != 1 {
		return "", fmt.Errorf("net.topology.script.file.name: %s %s printed %d racks instead of one", m.script, host, len(racks))
	}
	return racks[0], nil
}

// Package topology finds the racks of hosts, as Hadoop's DNSToSwitchMapping does: by a script
// (net.topology.script.file.name), a table (net.topology.table.file.name), or not at all. rm/leader asks it when
// nodes register.
package topology

import (
	"bufio"
	"context"
	"fmt"
	"io"
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

// scriptPatience limits a run of the script. Programs that it has started are killed a second later.
const scriptPatience = 30 * time.Second

// Mapping finds racks and caches them. It is safe for concurrent use.
type Mapping struct {
	script   string
	patience time.Duration // with a run of the script
	table    map[string]string
	log      *logrus.Entry

	running chan struct{} // has an element for each script that runs

	mu    sync.Mutex
	known map[string]string
	asked map[string]chan struct{} // hosts that are being looked up; closed when that has ended
}

const (
	maxScripts = 16      // at once
	maxKnown   = 100_000 // hosts in the cache
)

const (
	scriptKey = "net.topology.script.file.name"
	tableKey  = "net.topology.table.file.name"
	classKey  = "net.topology.node.switch.mapping.impl"
)

// script returns the program that finds racks, "" if there is none, or a table counts.
func script(c *conf.Config) string {
	if strings.HasSuffix(c.Text(classKey), ".TableMapping") {
		return ""
	}
	path, _ := c.Get(scriptKey)
	return path
}

// foreign warns of a class that finds racks in a way of its own. Without a word, all hosts would be in one rack.
func foreign(c *conf.Config) []conf.Problem {
	class := c.Text(classKey)
	for _, known := range []string{".ScriptBasedMapping", ".ScriptBasedMappingWithDependency", ".TableMapping"} {
		if strings.HasSuffix(class, known) {
			return nil
		}
	}
	if class == "" || script(c) != "" || c.IsSet(tableKey) {
		return nil
	}
	return []conf.Problem{conf.AtKey(c, conf.Warning, classKey, fmt.Errorf("no Java class is run: all hosts are in %s until %s or %s says which rack they are in", DefaultRack, scriptKey, tableKey))}
}

// New reads the configuration. As in Hadoop, hosts have DefaultRack if the script can't be run, or the table can't be read; Problems says so.
func New(c *conf.Config, log *logrus.Entry) *Mapping {
	m := &Mapping{
		known: map[string]string{}, asked: map[string]chan struct{}{}, running: make(chan struct{}, maxScripts), patience: scriptPatience, log: log,
	}
	if m.script = script(c); m.script != "" {
		return m
	}
	if path, _ := c.Get(tableKey); path != "" {
		m.table, _ = readTable(path)
	}
	return m
}

// Problems warns of a script that can't be run, and of what is wrong with a table. Hosts that have no rack because of it have DefaultRack.
func Problems(c *conf.Config) []conf.Problem {
	if path := script(c); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			return []conf.Problem{conf.AtKey(c, conf.Warning, scriptKey, fmt.Errorf("%w: all hosts are in %s until it is a program that prints the racks of the hosts in its arguments", err, DefaultRack))}
		}
		return nil
	}
	if path, _ := c.Get(tableKey); path != "" {
		if _, err := readTable(path); err != nil {
			return []conf.Problem{conf.AtKey(c, conf.Warning, tableKey, fmt.Errorf("%w: hosts without a rack are in %s", err, DefaultRack))}
		}
	}
	return foreign(c)
}

// readTable reads a file with racks. It returns those that are right, also with an error.
func readTable(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	table, err := parseTable(f)
	if err != nil {
		return table, fmt.Errorf("%s: %w", path, err)
	}
	return table, nil
}

// maxLine bounds a line of a table, in bytes.
const maxLine = 1 << 20

// parseTable reads lines with a host and its rack. As Hadoop's TableMapping does, it skips other lines. An error names the first line whose
// rack is wrong, and which it skips.
func parseTable(r io.Reader) (map[string]string, error) {
	table := map[string]string{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 1
	var bad error
	for ; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) != 2 || fields[0][0] == '#' {
			continue
		}
		if err := checkRack(fields[1]); err != nil {
			if bad == nil {
				bad = fmt.Errorf("line %d: %w", n, err)
			}
			continue
		}
		table[fields[0]] = fields[1]
	}
	if err := lines.Err(); err != nil {
		return table, fmt.Errorf("line %d: %w", n, err)
	}
	return table, bad
}

// checkRack says what is wrong with the name of a rack. Applications ask for racks by names that begin with a slash, as Hadoop's
// NodeBase.normalize demands; one without would never be found.
func checkRack(rack string) error {
	if rack[0] != '/' {
		return fmt.Errorf("the rack %q must begin with a slash, as in /rack1", rack)
	}
	return nil
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
	ctx, cancel := context.WithTimeout(context.Background(), m.patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.script, host)
	cmd.WaitDelay = time.Second // for what the script started and left behind with its output
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("net.topology.script.file.name: %s %s: %w", m.script, host, err)
	}
	racks := strings.Fields(string(out))
	if len(racks) != 1 {
		return "", fmt.Errorf("net.topology.script.file.name: %s %s printed %d racks instead of one", m.script, host, len(racks))
	}
	if err := checkRack(racks[0]); err != nil {
		return "", fmt.Errorf("net.topology.script.file.name: %s %s: %w", m.script, host, err)
	}
	return racks[0], nil
}

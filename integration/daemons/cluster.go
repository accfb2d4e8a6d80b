package daemons

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"heddle/conf"
	"heddle/internal/ports"
	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/sasl"
)

// Options describe a cluster.
type Options struct {
	Binary           string // path of heddle
	Dir              string // absolute path of an existing folder for all files
	ResourceManagers int
	NodeManagers     int
	// Witness adds a witness to two ResourceManagers.
	Witness bool
	// Set has further settings of all daemons and clients.
	Set map[string]string
	// NodeSet has settings of single nodes, by their names.
	NodeSet map[string]map[string]string
	// Hosts are those of nodes, addresses of this machine; by default each node is a host of its own, because applications avoid whole hosts.
	Hosts []string
	// Memory is the memory of a node in MB; 8192 by default. A node has a vcore for each 1024 MB.
	Memory int
	// Disk is the size of each daemon's own disk in bytes. With 0 a daemon has a folder. Disks need root and Linux.
	Disk int64
	// Direct lets daemons reach each other without the switch. So they may run elsewhere, such as in a virtual machine;
	// see Command.
	Direct bool
	// Admin asks ResourceManagers whether they lead; root without Kerberos by default.
	Admin ipc.Identity
	// Protection lists the qualities of protection that it accepts (hadoop.rpc.protection).
	Protection sasl.Qualities
	// Keep lets daemons outlive this process.
	Keep bool
	// Supervise restarts a daemon that has ended by itself, as an init system does.
	Supervise bool
}

// rmKeys are the keys of a ResourceManager's addresses, nodeKeys those of a node's.
var (
	rmKeys   = []string{rm.ClientAddress, rm.MasterAddress, rm.TrackerAddress, rm.AdminAddress, rm.WebAddress}
	nodeKeys = []string{"yarn.nodemanager.address", "yarn.nodemanager.localizer.address", "yarn.nodemanager.webapp.address", "mapreduce.shuffle.port"}
)

// raftKey is the key of a member's address for the other members.
const raftKey = "heddle.raft.address"

// Witness is the name of the witness, and its id in the group.
const Witness = conf.WitnessID

// witnessKey is the key of its address.
const witnessKey = "heddle.raft.witness.address"

// Cluster has the daemons and the switch between them.
//
// It has many methods because each harm that tests do to daemons is one.
type Cluster struct {
	// ResourceManagers and NodeManagers are the names of the daemons: rm1, …, nm1, ….
	ResourceManagers, NodeManagers []string

	o       Options
	client  *ipc.Client
	ports   map[string]map[string]int // ports by daemon and key
	release func()
	plug    *patch

	mu    sync.Mutex
	procs map[string]*process
	args  map[string][]string
	ended []Ended
	down  map[string]bool // daemons that Supervise must not restart
}

// New prepares a cluster; Start starts its daemons.
func New(o Options) (_ *Cluster, err error) {
	if o.Memory == 0 {
		o.Memory = 8192
	}
	c := &Cluster{
		o: o, ports: map[string]map[string]int{}, procs: map[string]*process{}, args: map[string][]string{}, down: map[string]bool{},
		client: ipc.NewClient(ipc.ClientConfig{ConnectTimeout: time.Second, CallTimeout: 3 * time.Second, Protection: o.Protection}),
	}
	for i := range o.ResourceManagers {
		c.ResourceManagers = append(c.ResourceManagers, fmt.Sprintf("rm%d", i+1))
	}
	for i := range o.NodeManagers {
		c.NodeManagers = append(c.NodeManagers, fmt.Sprintf("nm%d", i+1))
	}
	if err := c.reserve(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	c.plug = newPatch()
	if !o.Direct {
		if err := c.wire(); err != nil {
			return nil, err
		}
	}
	if err := c.configure(); err != nil {
		return nil, err
	}
	for _, name := range c.Daemons() {
		if err := c.mountDisk(name); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Daemons returns the names of all daemons, the ResourceManagers first.
func (c *Cluster) Daemons() []string { return slices.Concat(c.Members(), c.NodeManagers) }

// Members returns the names of the group's members: the ResourceManagers, and the witness if there is one.
func (c *Cluster) Members() []string {
	if c.o.Witness {
		return append(slices.Clone(c.ResourceManagers), Witness)
	}
	return c.ResourceManagers
}

func (c *Cluster) reserve() error {
	free, release, err := ports.Free(1 + len(c.ResourceManagers)*(len(rmKeys)+1) + len(c.NodeManagers)*len(nodeKeys))
	if err != nil {
		return err
	}
	c.release = release
	take := func(name string, keys ...string) {
		c.ports[name] = map[string]int{}
		for _, key := range keys {
			c.ports[name][key], free = free[0], free[1:]
		}
	}
	for _, id := range c.ResourceManagers {
		take(id, append(slices.Clone(rmKeys), raftKey)...)
	}
	take(Witness, witnessKey)
	for _, name := range c.NodeManagers {
		take(name, nodeKeys...)
	}
	return nil
}

// wire opens the addresses of the switch.
func (c *Cluster) wire() error {
	if c.o.Witness {
		if err := c.plug.listen("", Witness, fmt.Sprintf("%s:%d", c.side(2), c.ports[Witness][witnessKey]), c.Address(Witness, witnessKey)); err != nil {
			return err
		}
	}
	for _, id := range c.ResourceManagers {
		if err := c.plug.listen("", id, fmt.Sprintf("%s:%d", c.side(2), c.ports[id][raftKey]), c.Address(id, raftKey)); err != nil {
			return err
		}
		for i, name := range c.NodeManagers {
			if err := c.plug.listen(name, id, fmt.Sprintf("%s:%d", c.side(3+i), c.ports[id][rm.TrackerAddress]), c.Address(id, rm.TrackerAddress)); err != nil {
				return err
			}
		}
	}
	return nil
}

// side returns the switch's n-th address: the second is for ResourceManagers, those from the third on are for nodes.
func (c *Cluster) side(n int) string {
	if c.o.Direct {
		n = 1
	}
	return fmt.Sprintf("127.0.0.%d", n)
}

// Ports returns the ports of a daemon.
func (c *Cluster) Ports(name string) []int { return slices.Collect(maps.Values(c.ports[name])) }

// Command returns the command line of a daemon.
func (c *Cluster) Command(name string) []string {
	return append([]string{c.o.Binary, "--conf", c.Conf()}, c.args[name]...)
}

// Address returns where a daemon listens.
func (c *Cluster) Address(name, key string) string {
	return c.host(name) + ":" + strconv.Itoa(c.ports[name][key])
}

func (c *Cluster) host(name string) string {
	switch i := slices.Index(c.NodeManagers, name); {
	case i >= 0 && i < len(c.o.Hosts):
		return c.o.Hosts[i]
	case i >= 0:
		return fmt.Sprintf("127.0.2.%d", i+1)
	}
	return "127.0.0.1"
}

// Addresses returns where the ResourceManagers listen.
func (c *Cluster) Addresses(key string) []string {
	var out []string
	for _, id := range c.ResourceManagers {
		out = append(out, c.Address(id, key))
	}
	return out
}

// Dir returns the cluster's folder, Conf the configuration folder.
func (c *Cluster) Dir() string  { return c.o.Dir }
func (c *Cluster) Conf() string { return filepath.Join(c.o.Dir, "conf") }

// Home returns a daemon's folder, which is its disk if it has one.
func (c *Cluster) Home(name string) string { return filepath.Join(c.o.Dir, name) }

// key returns a ResourceManager's key in the form for a group of several.
func (c *Cluster) key(key, id string) string {
	if len(c.ResourceManagers) > 1 || key == raftKey {
		return key + "." + id
	}
	return key
}

func (c *Cluster) configure() error {
	site := map[string]string{
		"hadoop.tmp.dir":                          filepath.Join(c.o.Dir, "tmp"),
		"heddle.state.dir":                        filepath.Join(c.o.Dir, "state"),
		"fs.defaultFS":                            "file:///",
		"yarn.app.mapreduce.am.staging-dir":       filepath.Join(c.o.Dir, "staging"),
		"yarn.resourcemanager.cluster-id":         "daemons",
		"yarn.resourcemanager.bind-host":          "127.0.0.1",
		"yarn.nodemanager.resource.memory-mb":     strconv.Itoa(c.o.Memory),
		"yarn.nodemanager.resource.cpu-vcores":    strconv.Itoa(max(1, c.o.Memory/1024)),
		"yarn.nodemanager.delete.debug-delay-sec": "0",
		"heddle.container.run-as-root":            "true", // where root runs the tests
		// The folder may be on a disk that is nearly full.
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
	}
	if len(c.ResourceManagers) > 1 {
		site["yarn.resourcemanager.ha.enabled"] = "true"
		site["yarn.resourcemanager.ha.rm-ids"] = strings.Join(c.ResourceManagers, ",")
	}
	for _, id := range c.ResourceManagers {
		for _, key := range rmKeys {
			site[c.key(key, id)] = c.Address(id, key)
		}
		site[c.key(raftKey, id)] = fmt.Sprintf("%s:%d", c.side(2), c.ports[id][raftKey])
		c.args[id] = []string{"rm", "--id", id, "-D", "heddle.state.dir=" + filepath.Join(c.Home(id), "state")}
	}
	if c.o.Witness {
		site[witnessKey] = fmt.Sprintf("%s:%d", c.side(2), c.ports[Witness][witnessKey])
		c.args[Witness] = []string{"witness", "-D", "heddle.state.dir=" + filepath.Join(c.Home(Witness), "state")}
	}
	maps.Copy(site, c.o.Set)
	for i, name := range c.NodeManagers {
		c.args[name] = c.nodeArgs(c.side(3+i), name)
	}
	if err := os.MkdirAll(c.Conf(), 0o755); err != nil {
		return err
	}
	if err := WriteSite(filepath.Join(c.Conf(), "yarn-site.xml"), site); err != nil {
		return err
	}
	if r := conf.Check(c.Conf()); !r.OK() {
		return r.Err()
	}
	return nil
}

func (c *Cluster) nodeArgs(side, name string) []string {
	args := []string{"nm"}
	define := func(key, value string) { args = append(args, "-D", key+"="+value) }
	define("heddle.node.id", name)
	define("yarn.nodemanager.hostname", c.host(name))
	define("yarn.nodemanager.bind-host", c.host(name))
	define("heddle.state.dir", filepath.Join(c.Home(name), "state"))
	define("yarn.nodemanager.local-dirs", filepath.Join(c.Home(name), "local"))
	define("yarn.nodemanager.log-dirs", filepath.Join(c.Home(name), "log"))
	for _, key := range slices.Sorted(maps.Keys(c.o.NodeSet[name])) {
		define(key, c.o.NodeSet[name][key])
	}
	for _, key := range nodeKeys {
		if key == "mapreduce.shuffle.port" {
			define(key, strconv.Itoa(c.ports[name][key]))
			continue
		}
		define(key, c.Address(name, key))
	}
	for _, id := range c.ResourceManagers {
		define(c.key(rm.TrackerAddress, id), fmt.Sprintf("%s:%d", side, c.ports[id][rm.TrackerAddress]))
	}
	return args
}

// WriteSite writes settings as a file of Hadoop's.
func WriteSite(path string, site map[string]string) error {
	var b bytes.Buffer
	b.WriteString("<configuration>\n")
	for _, k := range slices.Sorted(maps.Keys(site)) {
		fmt.Fprintf(&b, "<property><name>%s</name><value>", k)
		if err := xml.EscapeText(&b, []byte(site[k])); err != nil {
			return err
		}
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// Close ends all daemons and everything that they have started, and removes their disks. The folder stays.
func (c *Cluster) Close() error {
	for _, name := range c.Daemons() {
		c.Kill(name)
	}
	var errs []error
	for _, p := range c.Strays() {
		errs = append(errs, p.kill())
	}
	for _, name := range c.Daemons() {
		errs = append(errs, c.unmountDisk(name))
	}
	c.client.Close()
	if c.plug != nil { // New may have failed early
		c.plug.close()
	}
	c.release()
	return errors.Join(errs...)
}

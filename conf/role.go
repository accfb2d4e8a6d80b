package conf

import "strings"

// Role is a set of processes that read a configuration.
type Role uint8

// The processes.
const (
	ResourceManager Role = 1 << iota
	NodeManager
	Witness
	Client // commands, and ApplicationMasters

	Everybody = ResourceManager | NodeManager | Witness | Client
)

// String names the commands of the daemons, such as "heddle rm, heddle nm".
func (r Role) String() string {
	var names []string
	for _, d := range []struct {
		role Role
		name string
	}{{ResourceManager, "heddle rm"}, {NodeManager, "heddle nm"}, {Witness, "heddle witness"}, {Client, "commands"}} {
		if r&d.role != 0 {
			names = append(names, d.name)
		}
	}
	return strings.Join(names, ", ")
}

// readers say who reads the keys with a prefix; the longest prefix counts. All daemons read all other keys. Tests of the daemons and of
// the commands compare this with what they read.
var readers = map[string]Role{
	"heddle.":                       Everybody,
	"heddle.raft.":                  ResourceManager | Witness,
	"heddle.scheduler.":             ResourceManager,
	"heddle.application.":           ResourceManager,
	"heddle.applications.":          ResourceManager,
	"heddle.submission.":            ResourceManager,
	"heddle.delegation-tokens.":     ResourceManager,
	"heddle.web-proxy.":             ResourceManager,
	"heddle.am.":                    ResourceManager,
	"heddle.probes.":                ResourceManager | NodeManager,
	"heddle.cgroup.":                NodeManager,
	"heddle.container.":             NodeManager,
	"heddle.nodemanager.":           NodeManager,
	"heddle.node.":                  NodeManager,
	"heddle.cluster.stock-daemons":  ResourceManager | NodeManager,
	"yarn.nodemanager.":             NodeManager,
	"mapreduce.shuffle.":            NodeManager,
	"dfs.replication":               NodeManager | Client,
	"dfs.blocksize":                 NodeManager | Client,
	"yarn.scheduler.":               ResourceManager,
	"yarn.am.liveness-monitor.":     ResourceManager,
	"yarn.nm.liveness-monitor.":     ResourceManager,
	"yarn.resourcemanager.":         ResourceManager,
	"yarn.resource-types.":          ResourceManager | NodeManager | Client,
	"yarn.web-proxy.":               ResourceManager | Client,
	"net.topology.":                 ResourceManager,
	"hadoop.http.":                  ResourceManager | NodeManager,
	"hadoop.http.staticuser.user":   Everybody,
	"yarn.cluster.max-application-": ResourceManager,

	"yarn.resourcemanager.principal":                        Everybody,
	"yarn.nodemanager.principal":                            ResourceManager | NodeManager,
	"yarn.resourcemanager.hostname":                         Everybody,
	"yarn.resourcemanager.ha.":                              Everybody,
	"yarn.resourcemanager.cluster-id":                       Everybody,
	"yarn.resourcemanager.bind-host":                        ResourceManager | Witness,
	"yarn.resourcemanager.address":                          Everybody,
	"yarn.resourcemanager.scheduler.address":                ResourceManager | Client,
	"yarn.resourcemanager.resource-tracker.address":         ResourceManager | NodeManager,
	"yarn.resourcemanager.admin.address":                    ResourceManager | Client,
	"yarn.resourcemanager.webapp.address":                   ResourceManager | NodeManager | Client,
	"yarn.resourcemanager.webapp.https.address":             ResourceManager | NodeManager | Client,
	"yarn.resourcemanager.connect.":                         NodeManager | Client,
	"yarn.nodemanager.remote-app-log-dir":                   ResourceManager | NodeManager | Client,
	"yarn.nodemanager.webapp.address":                       ResourceManager | NodeManager | Client,
	"yarn.nodemanager.webapp.https.address":                 ResourceManager | NodeManager | Client,
	"yarn.nodemanager.hostname":                             ResourceManager | NodeManager | Client,
	"yarn.resourcemanager.nodemanagers.heartbeat-interval-": ResourceManager,
}

// ReadBy returns who reads a key.
func ReadBy(key string) Role {
	key = Canonical(key)
	for end := len(key); end > 0; end-- {
		if r, ok := readers[key[:end]]; ok {
			return r
		}
	}
	return Everybody
}

// judgeFor makes warnings of errors in keys that none of the roles reads, and notes in the others which roles refuse them.
func (v *validation) judgeFor(roles Role) {
	for i := range v.problems {
		if p := &v.problems[i]; p.Severity == Error {
			p.Roles = ReadBy(p.Key) & roles
			if p.Roles == 0 {
				p.Severity = Warning
			}
		}
	}
}

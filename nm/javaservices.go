package nm

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"heddle/conf"
	"heddle/conf/environ"
	"heddle/conf/javaservices"
	"heddle/conf/serviceacl"
	"heddle/conf/ssl"
	"heddle/internal/statedir"
	"heddle/internal/userfiles"
	"heddle/nm/auxservices"
	"heddle/nm/cgroup"
	"heddle/nm/health"
	"heddle/nm/javahost"
	"heddle/nm/javanode"
	"heddle/nm/runas"
	"heddle/nm/shuffle"
	"heddle/yarn/account"
	"heddle/yarn/acl"
)

// javaFolders makes the folder of the JVM, and the one below which services keep their state. That is where YARN's NodeManager has it if that is
// configured, so that both find what the other has left.
func javaFolders(c *conf.Config, state string, u *userfiles.User) (dir, recovery string, err error) {
	const key = "yarn.nodemanager.recovery.dir"
	if dir, err = javanode.Folder(state); err != nil {
		return "", "", err
	}
	above := dir
	if c.IsSet(key) {
		above = c.Path(key)
	}
	if err := statedir.MakePassable(above); err != nil {
		return "", "", err
	}
	in, err := userfiles.OpenDir(above)
	if err != nil {
		return "", "", err
	}
	defer in.Close()
	own, err := in.Make("nm-aux-services", u.Want(0o700))
	if err != nil {
		return "", "", fmt.Errorf("the folder of the state of auxiliary services (%s): %w", key, err)
	}
	defer own.Close()
	return dir, own.Name(), nil
}

// openAux makes the auxiliary services.
func (n *NodeManager) openAux() error {
	c := n.o.Conf
	for _, left := range n.s.java.Left {
		n.log.Warnf("auxiliary service left out: %s", left)
	}
	var configured []javahost.Service
	for _, s := range n.s.java.Services {
		own := javahost.Service{Name: s.Name, Class: s.Class, ClassPath: s.ClassPath, System: s.System}
		if s.Remote != "" {
			own.Files = []javahost.File{{Source: s.Remote}}
		}
		configured = append(configured, own)
	}
	changing := auxservices.Enabled(c)
	_, users, err := serviceacl.WithGroups(c, n.log)
	if err != nil {
		return err
	}
	confine := func(*javahost.Config) {}
	if len(configured) > 0 || changing {
		confine = confineJava(n)
	}
	n.aux, err = auxservices.New(context.Background(), auxservices.Options{
		Conf: c, Configured: configured, Shuffle: func(c *conf.Config) (shuffle.Config, error) { return shuffleOf(n, c) }, Files: n.files.As(""), Register: n.metrics, Log: n.log,
		Java:   func(first []javahost.Service) (*javahost.Host, error) { return newJava(n, first, confine) },
		MayOwn: func(user string) bool { return acl.Parse(c.Text("yarn.admin.acl")).Allows(user, users) },
	})
	if err == nil && (len(configured) > 0 || changing) {
		err = registerJava(n.aux.Java, n.metrics)
	}
	return err
}

// shuffleOf returns how the shuffle is configured by c.
func shuffleOf(n *NodeManager, c *conf.Config) (cfg shuffle.Config, err error) {
	cfg = shuffle.Config{
		Addr: net.JoinHostPort(n.s.listen.Host, strconv.Itoa(c.Int("mapreduce.shuffle.port"))),
		Dirs: n.disks.Local, Store: n.state.Bucket("shuffle"), Log: n.log, UID: uids(n.s.container.Owner),
		MaxConnections: c.Int("mapreduce.shuffle.max.connections"),
		MaxOpenFiles:   c.Int("mapreduce.shuffle.max.session-open-files"),
		KeepAlive:      c.Bool("mapreduce.shuffle.connection-keep-alive.enable"),
		KeepAliveFor:   c.Duration("mapreduce.shuffle.connection-keep-alive.timeout"),
	}
	cfg.TLS, err = ssl.Shuffle(c, n.log)
	return cfg, err
}

// newJava makes the host of auxiliary services that are Java classes.
func newJava(n *NodeManager, first []javahost.Service, confine func(*javahost.Config)) (*javahost.Host, error) {
	j, u, c := n.s.java, n.s.javaUser, n.o.Conf
	if auxservices.Enabled(c) { // nothing of Java was looked for yet
		var err error
		if j, err = javaservices.Runtime(c, environ.Of(c.Dir(), os.LookupEnv)); err == nil && n.s.container.Owner != nil {
			u, err = serviceUser(c)
		}
		if err != nil {
			return nil, err
		}
	}
	dir, recovery, err := javaFolders(c, n.s.state, u)
	if err != nil {
		return nil, err
	}
	cfg := javahost.Config{Config: javaNode(n).JVM(j, dir)}
	cfg.User = u.Credential()
	cfg.Recovery, cfg.Properties, cfg.Hostname, cfg.Dirs, cfg.Types = recovery, append(javaservices.Properties(c), collectorProperties(n)...), n.identity.Host, n.disks.Local, n.s.types
	cfg.Patience, cfg.Bucket, cfg.Services = j.Patience, n.state.Bucket("javaservices"), first
	confine(&cfg)
	return javahost.New(cfg)
}

// Names of the group of the group of the JVM, and of the latter.
const (
	javaGroups = "java-services"
	javaGroup  = "jvm"
)

// confineJava returns what has a JVM run in a group of its own, where there are groups.
func confineJava(n *NodeManager) func(*javahost.Config) {
	weight := cgroup.Limits{Shares: max(2, n.s.cores)} // as much as all containers together, which wait for services
	within, err := n.groups.Below(javaGroups, weight)
	if err != nil {
		n.log.WithError(err).Warn("not guaranteed on this node: the memory of the JVM of the auxiliary services is bounded by its options alone")
		return func(*javahost.Config) {}
	}
	n.closing(func() {
		if err := within.Close(); err != nil {
			n.log.WithError(err).Warn("could not leave the group of the auxiliary services")
		}
	})
	return func(cfg *javahost.Config) {
		javaNode(n).Confine(within, javaGroup, weight, &cfg.Config)
		cfg.Sweep() // an earlier life's
	}
}

// registerJava has metrics show how the JVM is.
func registerJava(host func() *javahost.Host, r prometheus.Registerer) error {
	status := func() (s javahost.Status) {
		if h := host(); h != nil {
			s = h.Status()
		}
		return s
	}
	up := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heddle_nm_java_services_up", Help: "1 while auxiliary services that are Java classes run, 0 while their JVM is being started again.",
	}, func() float64 {
		if status().Up {
			return 1
		}
		return 0
	})
	restarts := prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "heddle_nm_java_services_restarts_total", Help: "How often the JVM of auxiliary services has ended without being asked to.",
	}, func() float64 { return float64(status().Restarts) })
	for _, m := range []prometheus.Collector{up, restarts} {
		if err := r.Register(m); err != nil {
			return err
		}
	}
	return nil
}

// healthStatus is the node's health. A node without its auxiliary services is healthy, as its containers go on; its report names the trouble.
func (n *NodeManager) healthStatus() health.Status {
	s := n.health.Status()
	if trouble := n.aux.Trouble(); trouble != "" {
		if s.Report != "" {
			s.Report += ";"
		}
		s.Report += trouble
	}
	return s
}

// readJava reads which auxiliary services are Java classes, and whom they run as.
func (s *settings) readJava(c *conf.Config) (err error) {
	if s.java, err = javaservices.Of(c, environ.Of(c.Dir(), os.LookupEnv)); err != nil || s.container.Owner == nil || len(s.java.Services) == 0 {
		return err
	}
	if s.javaUser, err = serviceUser(c); err != nil {
		return conf.ErrorAt(c, "heddle.nodemanager.java.user", fmt.Errorf("auxiliary service %s is a Java class: %w", s.java.Services[0].Name, err))
	}
	return nil
}

// serviceUser returns whom the JVM of auxiliary services runs as where containers run as their users: not as root, since services follow what users put into
// their folders.
func serviceUser(c *conf.Config) (*userfiles.User, error) {
	rules, _, err := runas.Read(c)
	if err != nil {
		return nil, err
	}
	shared, err := sharedGroup(c, rules, account.System)
	if err != nil {
		return nil, err
	}
	u, err := javanode.Account(c)
	if err == nil {
		u.Groups, u.Shared = append(u.Groups, shared), shared
	}
	return u, err
}

// javaNode says how JVMs run beside the node.
func javaNode(n *NodeManager) *javanode.Node {
	return &javanode.Node{
		Conf: n.o.Conf, State: n.s.state, Host: n.identity.Host, Cores: n.s.cores, LimitMemory: n.s.container.LimitMemory, Owner: n.s.container.Owner,
		Groups: n.groups, Log: n.log,
	}
}

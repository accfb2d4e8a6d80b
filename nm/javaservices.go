package nm

import (
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"heddle/conf"
	"heddle/conf/environ"
	"heddle/conf/javaservices"
	"heddle/internal/statedir"
	"heddle/internal/userfiles"
	"heddle/nm/cgroup"
	"heddle/nm/health"
	"heddle/nm/javahost"
	"heddle/nm/javanode"
	"heddle/nm/runas"
	"heddle/yarn/account"
)

// javaUserOf returns whom the JVM of auxiliary services runs as where containers run as their users: not as root, since services follow what users put into
// their folders. nil: as this process's user.
func javaUserOf(c *conf.Config, s javaservices.Settings, shared int) (*userfiles.User, error) {
	const key = "heddle.nodemanager.java.user"
	if len(s.Services) == 0 {
		return nil, nil
	}
	u, err := javanode.Account(c)
	if err != nil {
		return nil, conf.ErrorAt(c, key, fmt.Errorf("auxiliary service %s is a Java class: %w", s.Services[0].Name, err))
	}
	u.Groups, u.Shared = append(u.Groups, shared), shared
	return u, nil
}

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

// openJava makes the host of auxiliary services that are Java classes, if there are any.
func (n *NodeManager) openJava() error {
	j, c := n.s.java, n.o.Conf
	if len(j.Services) == 0 {
		return nil
	}
	dir, recovery, err := javaFolders(c, n.s.state, n.s.javaUser)
	if err != nil {
		return err
	}
	cfg := javahost.Config{Config: javaNode(n).JVM(j, dir)}
	cfg.User = n.s.javaUser.Credential()
	cfg.Recovery, cfg.Properties, cfg.Hostname, cfg.Dirs, cfg.Types = recovery, javaservices.Properties(c), n.identity.Host, n.disks.Local, n.s.types
	cfg.Patience, cfg.Bucket = j.Patience, n.state.Bucket("javaservices")
	for _, s := range j.Services {
		cfg.Services = append(cfg.Services, javahost.Service(s))
		n.aux.javas[s.Name] = true
	}
	confineJava(n, &cfg)
	if n.aux.java, err = javahost.New(cfg); err != nil {
		return err
	}
	return registerJava(n.aux.java, n.metrics)
}

// Names of the group of the group of the JVM, and of the latter.
const (
	javaGroups = "java-services"
	javaGroup  = "jvm"
)

// confineJava has the JVM run in a group of its own, where there are groups.
func confineJava(n *NodeManager, cfg *javahost.Config) {
	weight := cgroup.Limits{Shares: max(2, n.s.cores)} // as much as all containers together, which wait for services
	within, err := n.groups.Below(javaGroups, weight)
	if err != nil {
		n.log.WithError(err).Warn("not guaranteed on this node: the memory of the JVM of the auxiliary services is bounded by its options alone")
		return
	}
	n.closing(func() {
		if err := within.Close(); err != nil {
			n.log.WithError(err).Warn("could not leave the group of the auxiliary services")
		}
	})
	javaNode(n).Confine(within, javaGroup, weight, &cfg.Config)
	cfg.Sweep() // an earlier life's
}

// registerJava has metrics show how the JVM is.
func registerJava(h *javahost.Host, r prometheus.Registerer) error {
	up := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heddle_nm_java_services_up", Help: "1 while auxiliary services that are Java classes run, 0 while their JVM is being started again.",
	}, func() float64 {
		if h.Status().Up {
			return 1
		}
		return 0
	})
	restarts := prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "heddle_nm_java_services_restarts_total", Help: "How often the JVM of auxiliary services has ended without being asked to.",
	}, func() float64 { return float64(h.Status().Restarts) })
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
	if trouble := n.aux.trouble(); trouble != "" {
		if s.Report != "" {
			s.Report += ";"
		}
		s.Report += trouble
	}
	return s
}

// readJava reads which auxiliary services are Java classes, and whom they run as.
func (s *settings) readJava(c *conf.Config) (err error) {
	if s.java, err = javaservices.Of(c, environ.Of(c.Dir(), os.LookupEnv)); err != nil || s.container.Owner == nil {
		return err
	}
	rules, _, err := runas.Read(c)
	if err != nil {
		return err
	}
	shared, err := sharedGroup(c, rules, account.System)
	if err == nil {
		s.javaUser, err = javaUserOf(c, s.java, shared)
	}
	return err
}

// javaNode says how JVMs run beside the node.
func javaNode(n *NodeManager) *javanode.Node {
	return &javanode.Node{
		Conf: n.o.Conf, State: n.s.state, Host: n.identity.Host, Cores: n.s.cores, LimitMemory: n.s.container.LimitMemory, Owner: n.s.container.Owner,
		Groups: n.groups, Log: n.log,
	}
}

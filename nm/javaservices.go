package nm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"heddle/conf"
	"heddle/conf/environ"
	"heddle/conf/javaservices"
	"heddle/internal/statedir"
	"heddle/internal/trust"
	"heddle/internal/userfiles"
	"heddle/nm/cgroup"
	"heddle/nm/health"
	"heddle/nm/javahost"
	"heddle/nm/launch"
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
	name := cmp.Or(s.User, "yarn")
	fail := func(err error) (*userfiles.User, error) {
		return nil, conf.ErrorAt(c, key, fmt.Errorf("auxiliary service %s is a Java class, which doesn't run as root where containers run as users, and it can't run as %q: %w: name an account in %s", s.Services[0].Name, name, err, key))
	}
	a, err := account.System.Lookup(name)
	if err != nil {
		return fail(err)
	}
	rules, _, err := runas.Read(c)
	if err != nil {
		return nil, err
	}
	if a.UID != 0 && rules.Check(name, a.UID) == nil {
		return fail(errors.New("containers may run as it"))
	}
	return &userfiles.User{UID: a.UID, GID: a.GID, Groups: append(slices.Clone(a.Groups), shared), Shared: shared}, nil
}

// javaFolders makes the folder of the JVM, and the one below which services keep their state. That is where YARN's NodeManager has it if that is
// configured, so that both find what the other has left.
func javaFolders(c *conf.Config, state string, u *userfiles.User) (dir, recovery string, err error) {
	const key = "yarn.nodemanager.recovery.dir"
	dir = state + "-java"
	above := dir
	if c.IsSet(key) {
		above = c.Path(key)
	}
	for _, d := range []string{dir, above} {
		if err := statedir.MakePassable(d); err != nil {
			return "", "", err
		}
	}
	if err := trust.Check(dir); err != nil {
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
	cfg := javahost.Config{
		Java: j.Java, JavaVersion: launch.JavaVersion(j.Home), JavaOptions: j.Options, HeapMB: j.HeapMB, ClassPath: j.ClassPath,
		Dir: dir, Recovery: recovery, Properties: properties(c), Hostname: n.identity.Host, Dirs: n.disks.Local, Types: n.s.types,
		User: n.s.javaUser.Credential(), Env: javaEnvironment(c), Confine: func(int) error { return nil }, Sweep: func() {},
		Patience: j.Patience, Bucket: n.state.Bucket("javaservices"), Log: n.log,
	}
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

// properties are the settings that no file of the configuration folder has, keys and values in turn.
func properties(c *conf.Config) (out []string) {
	for s := range c.Settings() {
		if len(s.Sources) > 0 && s.Sources[len(s.Sources)-1] == "programmatically" {
			out = append(out, s.Key, s.Value)
		}
	}
	return out
}

// javaEnvironment is this process's, with the folder of the configuration.
func javaEnvironment(c *conf.Config) (env []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HADOOP_CONF_DIR=") {
			env = append(env, v)
		}
	}
	if dir, ok := environ.Of(c.Dir(), os.LookupEnv)("HADOOP_CONF_DIR"); ok {
		env = append(env, "HADOOP_CONF_DIR="+dir)
	}
	return env
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
	limits := weight
	if n.s.container.LimitMemory {
		limits.Memory = int64(javahost.MemoryMB(cfg.HeapMB)) << 20
		limits.Swap = limits.Memory
	}
	cfg.Sweep = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		g, err := within.Open(javaGroup)
		if err != nil {
			return // nothing is left
		}
		if err = g.Kill(ctx); err == nil {
			err = g.Destroy(ctx)
		}
		if err != nil {
			n.log.WithError(err).Warn("could not end what the JVM of the auxiliary services has left")
		}
	}
	cfg.Sweep() // an earlier life's
	cfg.Confine = func(pid int) error {
		g, err := within.Create(javaGroup, limits)
		if err != nil {
			return err
		}
		return g.Add(pid)
	}
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

package javanode

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"

	"heddle/conf/environ"
	"heddle/conf/javaservices"
	"heddle/internal/statedir"
	"heddle/internal/trust"
	"heddle/nm/cgroup"
	"heddle/nm/javahost"
	"heddle/nm/launch"
)

// Names of the group of the groups of JVMs that read files, and the heap of each, MiB: a few buffers of a file.
const (
	filesGroups = "java-files"
	filesHeapMB = 256
)

// Files reads files of schemes that the node itself doesn't know, by Hadoop's FileSystem classes in JVMs beside the node. None runs before one is needed.
func (n *Node) Files() (files *javahost.Files, stop func()) {
	dir := n.State + "-java"
	folder := sync.OnceValue(func() error {
		if err := statedir.MakePassable(dir); err != nil {
			return err
		}
		return trust.Check(dir)
	})
	var last atomic.Int64
	var used atomic.Bool
	groups := sync.OnceValue(func() cgroup.Parent {
		used.Store(true)
		within, err := n.Groups.Below(filesGroups, cgroup.Limits{Shares: max(2, n.Cores)})
		if err != nil {
			n.Log.WithError(err).Warn("not guaranteed on this node: the memory of JVMs that read files is bounded by their options alone")
			return nil
		}
		return within
	})
	files = javahost.NewFiles(javahost.FilesConfig{
		Dir: dir, Patience: n.Conf.Duration("heddle.nodemanager.java.patience-ms"),
		JVM: func(user string) (javahost.Config, error) {
			if err := folder(); err != nil {
				return javahost.Config{}, err
			}
			cfg, err := n.readerConfig(dir)
			if err == nil {
				err = n.readsAs(&cfg, user)
			}
			if within := groups(); err == nil && within != nil {
				n.Confine(within, fmt.Sprintf("jvm-%d", last.Add(1)), cgroup.Limits{Shares: 2}, &cfg)
				cfg.Sweep() // an earlier life's
			}
			return cfg, err
		},
	})
	return files, func() {
		files.Close()
		if !used.Load() || groups() == nil {
			return
		}
		if err := groups().Close(); err != nil {
			n.Log.WithError(err).Warn("could not leave the group of JVMs that read files")
		}
	}
}

// readerConfig returns how a JVM that reads files is started.
func (n *Node) readerConfig(dir string) (javahost.Config, error) {
	c := n.Conf
	j, err := javaservices.Runtime(c, environ.Of(c.Dir(), os.LookupEnv))
	return javahost.Config{
		Java: j.Java, JavaVersion: launch.JavaVersion(j.Home), JavaOptions: j.Options, HeapMB: filesHeapMB, ClassPath: j.ClassPath, Dir: dir,
		Properties: Properties(c), Hostname: n.Host, Env: Environment(c), Confine: func(int) error { return nil }, Sweep: func() {}, Log: n.Log,
	}, err
}

// readsAs has a JVM run as the user whose files it reads, where containers run as their users; for the NodeManager itself as the JVM of auxiliary services.
func (n *Node) readsAs(cfg *javahost.Config, user string) error {
	owner := n.Owner
	switch {
	case owner == nil:
		return nil
	case user == "":
		j, err := Account(n.Conf)
		cfg.User = j.Credential()
		return err
	}
	u, err := owner(user)
	cfg.User = u.Credential()
	cfg.Env = slices.DeleteFunc(cfg.Env, func(v string) bool { return !forReaders.MatchString(v) })
	return err
}

// forReaders matches variables that a JVM gets that runs as a user, who can read them: where Java and Hadoop are, and not what else the node's has.
var forReaders = regexp.MustCompile(`^(PATH|JAVA_HOME|LANG|LC_[A-Z]+|TZ|HADOOP_([A-Z]+_)?HOME|HADOOP_CONF_DIR|HADOOP_CLASSPATH|LD_LIBRARY_PATH)=`)

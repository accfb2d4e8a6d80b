// Package javaservices reads which auxiliary services of a NodeManager are Java classes, and how they are run.
package javaservices

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"heddle/conf"
)

// Keys of the services, and of the JVM that runs them.
const (
	servicesKey  = "yarn.nodemanager.aux-services"
	classPathKey = "heddle.nodemanager.java.class-path"
)

// Collector is the service with the collectors of timeline version 2 (nm/collector).
const Collector = "org.apache.hadoop.yarn.server.timelineservice.collector.PerNodeTimelineCollectorsAuxService"

// base is the class that all services extend.
const base = "org.apache.hadoop.yarn.server.api.AuxiliaryService"

// Service is an auxiliary service that is a Java class.
type Service struct {
	Name, Class string
	ClassPath   string   // "": that of all
	Remote      string   // "": none
	System      []string // nil: Hadoop's list
}

// Settings say which services there are and how they are run.
type Settings struct {
	Services []Service
	Left     []string // services that are left out, with the reason

	Java      string // the program; "": there is none
	Home      string // its folder; "" if it comes from the PATH
	ClassPath string
	Options   []string
	HeapMB    int
	User      string // "": the NodeManager's own
	Patience  time.Duration
}

var serviceName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// IsName reports whether a service may have a name (Hadoop: AuxServices.validateAuxServiceName).
func IsName(name string) bool { return serviceName.MatchString(name) }

// Of reads the settings. look returns variables that a NodeManager has (conf/environ). An error names a service that can't be run, and how to mend it.
func Of(c *conf.Config, look func(string) (string, bool)) (Settings, error) {
	s := read(c)
	if c.Bool(servicesKey + ".manifest.enabled") {
		return s, nil // that says which
	}
	for _, name := range c.Strings(servicesKey) {
		key := servicesKey + "." + name
		class := c.Text(key + ".class")
		switch {
		case conf.OwnAuxService(c, name):
			continue
		case class == Collector && !collecting(c):
			s.Left = append(s.Left, name+": timeline version 2 is off (yarn.timeline-service.enabled, yarn.timeline-service.versions)")
			continue
		case !IsName(name):
			return s, conf.ErrorAt(c, servicesKey, fmt.Errorf("the name %q must have letters, digits and _ only, and not begin with a digit", name))
		case class == "":
			return s, conf.ErrorAt(c, servicesKey, fmt.Errorf("auxiliary service %s has no class: set %s.class, or take %[1]s out of the list", name, key))
		}
		value := func(what string) string { v, _ := c.Get(key + what); return strings.TrimSpace(v) }
		s.Services = append(s.Services, Service{
			Name: name, Class: class, ClassPath: value(".classpath"), Remote: value(".remote-classpath"),
			System: slices.DeleteFunc(conf.ParseList(value(".system-classes")), func(p string) bool { return p == "" }),
		})
	}
	if len(s.Services) == 0 {
		return s, nil
	}
	s.findJava(look)
	s.ClassPath = classPath(c, look)
	return s, s.check(c)
}

// Runtime returns how a JVM of the node is run that has no auxiliary services. An error says that there is no Java.
func Runtime(c *conf.Config, look func(string) (string, bool)) (Settings, error) {
	s := read(c)
	s.findJava(look)
	s.ClassPath = classPath(c, look)
	if dir, ok := look("HADOOP_CONF_DIR"); ok && c.Dir() == "" { // in a container, whose configuration came with its application
		s.ClassPath = dir + ":" + s.ClassPath
	}
	if s.Java == "" {
		return s, errNoJava
	}
	return s, nil
}

// read reads the settings of the JVM.
func read(c *conf.Config) Settings {
	const java = "heddle.nodemanager.java."
	return Settings{
		Options: strings.Fields(c.Text(java + "options")), HeapMB: c.Int(java + "heap-mb"), User: c.Text(java + "user"),
		Patience: c.Duration(java + "patience-ms"),
	}
}

// findJava looks where Hadoop's start scripts do, and then on the PATH.
func (s *Settings) findJava(look func(string) (string, bool)) {
	if home, ok := look("JAVA_HOME"); ok && home != "" {
		s.Home, s.Java = home, filepath.Join(home, "bin", "java")
		return
	}
	if path, err := exec.LookPath("java"); err == nil {
		s.Java = path
	}
}

// usualClassPath is where Hadoop's own releases have their jars (YarnConfiguration.DEFAULT_YARN_APPLICATION_CLASSPATH).
const usualClassPath = "$HADOOP_COMMON_HOME/share/hadoop/common/*:$HADOOP_COMMON_HOME/share/hadoop/common/lib/*:$HADOOP_HDFS_HOME/share/hadoop/hdfs/*:" +
	"$HADOOP_HDFS_HOME/share/hadoop/hdfs/lib/*:$HADOOP_YARN_HOME/share/hadoop/yarn/*:$HADOOP_YARN_HOME/share/hadoop/yarn/lib/*"

// collectorsClassPath is where Hadoop's releases have the jars of timeline version 2.
const collectorsClassPath = "$HADOOP_YARN_HOME/share/hadoop/yarn/timelineservice/*:$HADOOP_YARN_HOME/share/hadoop/yarn/timelineservice/lib/*"

// classPath returns the class path of all services, as java takes it: the configuration, and the jars of Hadoop.
func classPath(c *conf.Config, look func(string) (string, bool)) string {
	var all []string
	add := func(entry string) {
		missing := false
		entry = os.Expand(entry, func(name string) string {
			v, ok := look(name)
			missing = missing || !ok
			return v
		})
		if entry = strings.TrimSpace(entry); entry != "" && !missing && !slices.Contains(all, entry) {
			all = append(all, entry)
		}
	}
	if c.Dir() != "" {
		add("$HADOOP_CONF_DIR")
	}
	list := c.Text(classPathKey)
	if list == "" {
		list = cmp.Or(c.Text("yarn.application.classpath"), usualClassPath) + ":$HADOOP_CLASSPATH"
		if collecting(c) { // as in Hadoop's script yarn
			list += ":" + collectorsClassPath
		}
	}
	for _, entry := range strings.FieldsFunc(list, func(r rune) bool { return r == ':' || r == ',' || r == '\n' }) {
		add(entry)
	}
	return strings.Join(all, ":")
}

// check finds what would keep services from being loaded.
func (s *Settings) check(c *conf.Config) error {
	first := s.Services[0]
	out := fmt.Sprintf("or take %s out of %s", first.Name, servicesKey)
	if s.Java == "" {
		return conf.ErrorAt(c, servicesKey, fmt.Errorf("auxiliary service %s is a Java class (%s), and no Java was found: set JAVA_HOME or put java on the PATH of heddle nm, %s", first.Name, first.Class, out))
	}
	if _, err := os.Stat(s.Java); err != nil {
		return conf.ErrorAt(c, servicesKey, fmt.Errorf("auxiliary service %s is a Java class (%s), and JAVA_HOME has no Java: %w: set JAVA_HOME for heddle nm, %s", first.Name, first.Class, err, out))
	}
	shared := newFinder(s.ClassPath)
	if !shared.has(base) {
		return conf.ErrorAt(c, servicesKey, fmt.Errorf("auxiliary service %s is a Java class (%s), which needs Hadoop's jars, and %s isn't on the class path %q: set HADOOP_HOME for heddle nm, yarn.application.classpath or %s, %s",
			first.Name, first.Class, base, s.ClassPath, classPathKey, out))
	}
	for _, service := range s.Services {
		key := servicesKey + "." + service.Name
		if service.ClassPath == "" && service.Remote != "" || shared.has(service.Class) || newFinder(service.ClassPath).has(service.Class) {
			continue
		}
		where := "the class path of auxiliary services: name its jar in " + key + ".classpath or " + classPathKey
		if service.ClassPath != "" {
			where = fmt.Sprintf("%s.classpath, %q", key, service.ClassPath)
		}
		return conf.ErrorAt(c, key+".class", fmt.Errorf("auxiliary service %s: the class %s isn't in %s, or take %[1]s out of %[4]s", service.Name, service.Class, where, servicesKey))
	}
	return nil
}

// finder finds classes on a class path.
type finder struct{ folders, jars []string }

func newFinder(path string) *finder {
	f := &finder{}
	for _, entry := range filepath.SplitList(path) {
		switch {
		case entry == "":
		case filepath.Base(entry) == "*":
			jars, _ := filepath.Glob(filepath.Join(filepath.Dir(entry), "*.[jJ][aA][rR]")) // the pattern is well-formed
			f.jars = append(f.jars, jars...)
		default:
			if info, err := os.Stat(entry); err == nil && info.IsDir() {
				f.folders = append(f.folders, entry)
				continue
			}
			f.jars = append(f.jars, entry)
		}
	}
	return f
}

// has reports whether the class is there. A jar that can't be read doesn't have it.
func (f *finder) has(class string) bool {
	file := strings.ReplaceAll(class, ".", "/") + ".class"
	for _, folder := range f.folders {
		if _, err := os.Stat(filepath.Join(folder, file)); err == nil {
			return true
		}
	}
	return slices.ContainsFunc(f.jars, func(jar string) bool {
		z, err := zip.OpenReader(jar)
		if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
			return false
		}
		defer z.Close()
		return slices.ContainsFunc(z.File, func(e *zip.File) bool { return e.Name == file })
	})
}

package conf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// siteFiles are the files of a configuration folder, in the order in which they are read.
var siteFiles = []string{
	"core-site.xml", "hdfs-site.xml", "mapred-site.xml", "yarn-site.xml",
	"resource-types.xml", "node-resources.xml", // Hadoop's ResourceUtils reads these as well
}

// Options say where a configuration comes from.
type Options struct {
	// Dir is the folder with the site files, each of which may be missing. "" means that there are only defaults.
	Dir string
	// Overrides are key=value, the form of the command line's -D. They win over all files, even over final properties.
	Overrides []string
	// Getenv returns an environment variable; it defaults to os.LookupEnv.
	Getenv func(name string) (string, bool)
	// SystemProperties replace Java's system properties in variables. user.name, user.home, user.dir and java.io.tmpdir
	// have defaults.
	SystemProperties map[string]string
	// Hostname returns this host's name; it defaults to os.Hostname.
	Hostname func() (string, error)
	// LookupHost returns the IP addresses of a host; it defaults to the system's resolver.
	LookupHost func(ctx context.Context, host string) ([]string, error)
	// Read, if it isn't nil, is told of each key whose value is asked for. It is for tests.
	Read func(key string)
}

// Config is a loaded configuration. It is safe for concurrent use, except during Set.
//
// It has many methods because each kind of value has its own way to be read.
type Config struct {
	dir      string
	props    *Properties
	unread   map[string]unreadDefault // of Hadoop's default files; nil but in what /conf shows
	getenv   func(string) (string, bool)
	system   map[string]string // Java's system properties
	hostname func() (string, error)
	resolve  func(context.Context, string) ([]string, error)
	read     func(key string) // nil: they aren't reported
}

// Locate returns the configuration folder: the one of a flag, or else $HADOOP_CONF_DIR, or else "" for the defaults.
// getenv defaults to os.LookupEnv.
func Locate(flag string, getenv func(string) (string, bool)) string {
	if flag != "" {
		return flag
	}
	if getenv == nil {
		getenv = os.LookupEnv
	}
	dir, _ := getenv("HADOOP_CONF_DIR")
	return dir
}

// Load reads the site files of a folder over the defaults. It fails if a file can't be read or isn't a configuration (a
// *SyntaxError), and if an override isn't key=value. Validate checks the values.
func Load(o Options) (*Config, error) {
	c, errs := load(o)
	return c, errors.Join(errs...)
}

// load continues after an error, to find all of them at once.
func load(o Options) (*Config, []error) {
	c := &Config{dir: o.Dir, props: newProperties(), getenv: o.Getenv, hostname: o.Hostname, resolve: o.LookupHost, read: o.Read}
	if c.getenv == nil {
		c.getenv = os.LookupEnv
	}
	if c.hostname == nil {
		c.hostname = os.Hostname
	}
	if c.resolve == nil {
		c.resolve = net.DefaultResolver.LookupHost
	}
	c.system = systemProperties(c.getenv)
	maps.Copy(c.system, o.SystemProperties)
	var errs []error
	if o.Dir != "" {
		if abs, err := filepath.Abs(o.Dir); err == nil {
			c.dir = abs
		}
		if st, err := os.Stat(c.dir); err != nil {
			return c, []error{fmt.Errorf("configuration folder: %w", err)}
		} else if !st.IsDir() {
			return c, []error{fmt.Errorf("configuration folder: %s is not a folder", c.dir)}
		}
		for _, name := range siteFiles {
			err := c.props.addFile(filepath.Join(c.dir, name))
			if err != nil && !isMissing(err) {
				errs = append(errs, err)
			}
		}
	}
	for _, kv := range o.Overrides {
		key, value, ok := strings.Cut(kv, "=")
		if key = trim(key); !ok || key == "" {
			errs = append(errs, fmt.Errorf("override %q: must be key=value", kv))
			continue
		}
		c.props.set(key, value, Source{File: commandLine})
	}
	return c, errs
}

// isMissing reports whether a file doesn't exist. A SyntaxError about a missing included file doesn't count.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// systemProperties returns those of Java's system properties that configurations use.
func systemProperties(getenv func(string) (string, bool)) map[string]string {
	p := map[string]string{"java.io.tmpdir": "/tmp"}
	if u, err := user.Current(); err == nil {
		p["user.name"], p["user.home"] = u.Username, u.HomeDir
	} else if name, ok := getenv("USER"); ok {
		p["user.name"] = name
	}
	if wd, err := os.Getwd(); err == nil {
		p["user.dir"] = wd
	}
	return p
}

// Dir returns the folder that the configuration was read from, or "".
func (c *Config) Dir() string { return c.dir }

// Set sets a key, whatever the files say, like Hadoop's Configuration.set.
func (c *Config) Set(key, value string) {
	c.props.set(key, value, Source{File: program})
}

// With returns a copy with the properties of one more file, such as capacity-scheduler.xml. A relative path starts in
// the configuration folder. Final properties keep their values.
func (c *Config) With(file string) (*Config, error) {
	d := c.clone()
	if err := d.props.addFile(c.inDir(file)); err != nil {
		return nil, err
	}
	return d, nil
}

// WithValues returns a copy with values from elsewhere than a file on top. Messages name source as their origin.
func (c *Config) WithValues(source string, values map[string]string) *Config {
	d := c.clone()
	for key, value := range values {
		d.props.set(key, value, Source{File: source})
	}
	return d
}

// Reread reads the site files again. Settings of the command line and the program stay.
func (c *Config) Reread() (*Config, error) {
	d, errs := load(Options{Dir: c.dir, Getenv: c.getenv, SystemProperties: c.system, Hostname: c.hostname, LookupHost: c.resolve})
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("read the configuration again: %w", err)
	}
	for key, p := range c.props.byName {
		if p.Source.File == commandLine || p.Source.File == program {
			d.props.set(key, p.Value, p.Source)
		}
	}
	return d, nil
}

// Sources of settings that don't come from a file.
const (
	commandLine = "<command line>"
	program     = "<program>"
)

func (c *Config) inDir(file string) string {
	if c.dir != "" && !filepath.IsAbs(file) {
		return filepath.Join(c.dir, file)
	}
	return file
}

func (c *Config) clone() *Config {
	d := *c
	d.props = c.props.clone()
	return &d
}

// raw returns a key's value before variables are replaced, or its default.
func (c *Config) raw(key string) (string, bool) {
	if p, ok := c.props.Get(key); ok {
		return p.Value, true
	}
	if v, ok := keys().defaults[Canonical(key)]; ok {
		return v, true
	}
	if v, ok := c.daemonDir(key); ok {
		return v, true
	}
	d, ok := c.unread[key]
	return d.value, ok
}

// daemonDir replaces the system properties that Hadoop's start scripts pass to its daemons.
func (c *Config) daemonDir(key string) (string, bool) {
	first := func(names ...string) (string, bool) {
		for _, name := range names {
			if v, _ := c.getenv(name); v != "" {
				return v, true
			}
		}
		return "", false
	}
	switch key {
	case "yarn.log.dir", "hadoop.log.dir":
		if v, ok := first("YARN_LOG_DIR"); ok && key == "yarn.log.dir" {
			return v, true
		}
		if v, ok := first("HADOOP_LOG_DIR"); ok {
			return v, true
		}
		if v, ok := first("HADOOP_HOME"); ok {
			return v + "/logs", true
		}
		return "${hadoop.tmp.dir}/logs", true
	case "hadoop.home.dir":
		return first("HADOOP_HOME")
	case "yarn.home.dir":
		return first("HADOOP_YARN_HOME", "HADOOP_HOME")
	}
	return "", false
}

// Expand replaces the variables of a text. Unknown ones stay unchanged. A variable that refers to itself, even through
// others, is an error.
func (c *Config) Expand(text string) (string, error) { return c.expandFor(text, nil) }

func (c *Config) expandFor(text string, chain []string) (string, error) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	x := expander{
		system: func(name string) (string, bool) { v, ok := c.system[name]; return v, ok },
		getenv: c.getenv,
		raw:    c.raw,
	}
	return x.expand(text, chain)
}

// lookup returns a key's value with variables replaced and without surrounding white space. ok is false if nothing sets
// the key.
func (c *Config) lookup(key string) (value string, ok bool, err error) {
	key = Canonical(key)
	if c.read != nil {
		c.read(key)
	}
	value, ok = c.raw(key)
	if !ok {
		return "", false, nil
	}
	if value, err = c.expandFor(value, []string{key}); err != nil {
		return "", false, err
	}
	value = trim(value)
	return value, value != "", nil
}

package nm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/environ"
	"heddle/conf/javaservices"
	"heddle/conf/secure"
	"heddle/internal/userfiles"
	"heddle/nm/cgroup"
	"heddle/nm/container"
	"heddle/nm/disks"
	"heddle/nm/enclosure"
	"heddle/nm/gpu"
	"heddle/nm/health"
	"heddle/nm/image"
	imagesettings "heddle/nm/image/settings"
	"heddle/nm/jvmarchive"
	"heddle/nm/launch"
	"heddle/nm/localizer"
	"heddle/nm/monitor"
	"heddle/nm/runas"
	"heddle/nm/shorttasks"
	"heddle/yarn/account"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Options configure a NodeManager. Conf and Log must be set.
type Options struct {
	Conf *conf.Config
	Log  *logrus.Entry

	// Source reads what containers need; nil: HDFS and this machine's file systems, as the configuration says.
	Source localizer.Source

	// Logs deals with the logs that applications leave; nil: they are aggregated, or removed after some time, as the
	// configuration says.
	Logs Logs

	// Subreaper makes this process the parent of orphans among its descendants. Only a process that does nothing but
	// run a NodeManager should have it.
	Subreaper bool

	// Binary is heddle's program, as which executors of short tasks are started; this one if empty.
	Binary string

	// Tracker replaces the connection to the ResourceManager, for tests.
	Tracker ipc.Invoker
}

// Logs aggregates and serves logs of containers.
type Logs interface {
	container.Logs
	Reports() []*pb.LogAggregationReport
	Restore([]*pb.LogAggregationReport)
	Last() []*pb.LogAggregationReport
}

// settings are the parts of a configuration that this package and those below it use, read once.
type settings struct {
	id      string // tells NodeManagers of a machine and state folder apart
	state   string // the state folder
	address conf.Address
	listen  conf.Address
	web     conf.Address
	webBind conf.Address

	types    records.ResourceTypes
	resource records.Resource
	physical records.Resource
	cores    float64   // that containers may use together
	gpus     *gpu.Pool // nil: none are handed out

	disks         disks.Config
	disksInterval time.Duration
	scripts       []health.Script
	cgroup        cgroup.Options
	container     container.Config
	archives      *jvmarchive.Config // nil: none are kept
	images        *image.Config      // nil: none are run
	java          javaservices.Settings
	javaUser      *userfiles.User // nil: this process's own
	monitor       monitor.Config
	suspend       time.Duration
	supervised    bool
	patience      time.Duration // to reach the ResourceManager
	clusterID     string
	accounts      *accounts     // of users that containers run as
	notes         []string      // warnings about the configuration for an administrator
	probes        *conf.Address // where probes are taken; nil: nowhere
	share         func(user string) shorttasks.Share
}

func readSettings(c *conf.Config) (settings, error) {
	s := settings{
		address: c.Address("yarn.nodemanager.address"), listen: c.NMListen("yarn.nodemanager.address"),
		web: c.Address(conf.WebKey(c, "yarn.nodemanager.")), webBind: c.NMListen(conf.WebKey(c, "yarn.nodemanager.")),
		suspend: c.Duration("heddle.container.suspend-timeout-ms"), supervised: supervised(c),
		clusterID: c.Text("yarn.resourcemanager.cluster-id"),
	}
	s.address, s.web = c.Connectable(s.address), c.Connectable(s.web)
	if s.id = c.Text("heddle.node.id"); s.id == "" {
		if s.id = s.address.Host; s.address.Port != 0 {
			s.id = s.address.String()
		}
	}
	s.state = c.StateDir("nm", s.id)
	s.accounts = newAccounts()

	hw, err := conf.DetectHardware("/")
	if err != nil {
		return s, err
	}
	if s.types, err = c.ResourceTypes(); err != nil {
		return s, err
	}
	if s.resource, err = c.NodeResource(s.types, hw); err != nil {
		return s, err
	}
	if s.gpus, err = gpus(c, s.types, &s.resource); err != nil {
		return s, err
	}
	s.physical = s.resource
	s.physical[records.Memory], s.physical[records.VCores] = hw.MemoryMB, int64(hw.Processors)
	percent := c.Int("yarn.nodemanager.resource.percentage-physical-cpu-limit")
	s.cores = float64(hw.Processors) * float64(percent) / 100

	s.disks = disks.Config{
		Local: c.Paths("yarn.nodemanager.local-dirs"), Logs: c.Paths("yarn.nodemanager.log-dirs"),
		Check:          c.Bool("yarn.nodemanager.disk-health-checker.enable"),
		MinHealthy:     c.Float("yarn.nodemanager.disk-health-checker.min-healthy-disks"),
		MaxUsedPercent: c.Float("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage"),
		LowUsedPercent: c.Float("yarn.nodemanager.disk-health-checker.disk-utilization-watermark-low-per-disk-percentage"),
		MinFreeMB:      int64(c.Int("yarn.nodemanager.disk-health-checker.min-free-space-per-disk-mb")),
		Patience:       c.Duration("heddle.nodemanager.disk-patience-ms"),
		Users:          c.Text("yarn.nodemanager.container-executor.class") == linuxExecutor,
		Inside:         []string{localizer.FileCache, localizer.UserCache, localizer.NMPrivate},
	}
	s.disksInterval = c.Duration("yarn.nodemanager.disk-health-checker.interval-ms")
	s.scripts = healthScripts(c)
	s.disks.Former = formerNode(c)
	if s.disks.LogMode, err = logMode(c); err != nil {
		return s, err
	}
	s.cgroup = cgroup.Options{Kind: cgroup.Kind(c.Text("heddle.cgroup.kind")), Root: c.Text("heddle.cgroup.root")}
	// Containers may keep all processors busy though other programs want them too, but not crowd these out.
	s.cgroup.Total.Shares = s.cores
	if percent < 100 {
		s.cgroup.Total.CPU = s.cores
	}
	s.monitor = monitor.Config{
		Interval:      c.Duration("yarn.nodemanager.resource-monitor.interval-ms"),
		PhysicalCheck: c.Bool("yarn.nodemanager.pmem-check-enabled"),
		// Hadoop checks by default and so kills healthy JVMs, which reserve much more address space than they use.
		VirtualCheck: c.IsSet("yarn.nodemanager.vmem-check-enabled") && c.Bool("yarn.nodemanager.vmem-check-enabled"),
		VirtualRatio: c.Float("yarn.nodemanager.vmem-pmem-ratio"),
	}
	if c.IsSet("yarn.nodemanager.container-monitor.interval-ms") {
		s.monitor.Interval = c.Duration("yarn.nodemanager.container-monitor.interval-ms")
	}
	s.patience = c.Limit("yarn.resourcemanager.connect.max-wait.ms")
	if c.IsSet("yarn.nodemanager.resourcemanager.connect.max-wait.ms") {
		s.patience = c.Limit("yarn.nodemanager.resourcemanager.connect.max-wait.ms")
	}
	if s.container, err = containerConfig(c, &s); err != nil {
		return s, err
	}
	s.archives = archiveConfig(c, s.disks.Local)
	if err = s.readJava(c); err != nil {
		return s, err
	}
	if c.Int("heddle.probes.memory-mb") > 0 {
		s.probes = &conf.Address{Host: s.listen.Host, Port: c.Int("heddle.nodemanager.probes.port")}
	}
	if s.share, err = shares(c); err != nil {
		return s, err
	}
	return s, nil
}

// archiveConfig returns how archives of Java classes are kept, or nil.
func archiveConfig(c *conf.Config, local []string) *jvmarchive.Config {
	const prefix = "heddle.nodemanager.jvm-archive."
	if !c.Bool(prefix + "enabled") {
		return nil
	}
	dir := c.Text(prefix + "dir")
	if dir == "" && len(local) > 0 {
		dir = filepath.Join(local[0], "jvm-archive")
	}
	return &jvmarchive.Config{
		Dir: dir, Options: strings.Fields(c.Text(prefix + "java-options")), MaxBytes: int64(c.Int(prefix+"max-mb")) << 20,
		// A tenth of what a program of usual priority gets: where a node is never idle an archive is made all the same, and its few
		// seconds are soon won back.
		MinFree: 512 << 20, Timeout: 5 * time.Minute, Nice: 10,
	}
}

// supervised reports whether containers are left alone when the node is asked to stop, as it will be started again. Like
// in Hadoop that takes two keys, but the first is only in the way when it is set to false: Heddle can always recover.
func supervised(c *conf.Config) bool {
	const enabled = "yarn.nodemanager.recovery.enabled"
	return c.Bool("yarn.nodemanager.recovery.supervised") && (c.Bool(enabled) || !c.IsSet(enabled))
}

// groupID returns the name of the node's part of the cgroups. The state folder is in it: it tells NodeManagers apart that
// would otherwise take each other's groups for leftovers.
func (s *settings) groupID() (string, error) {
	path, err := filepath.Abs(s.state)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(path))
	return s.id + "-" + hex.EncodeToString(sum[:4]), nil
}

func containerConfig(c *conf.Config, s *settings) (container.Config, error) {
	owner, rules, ignored, err := ownerOf(c, s.accounts)
	if err == nil && owner != nil {
		var note string
		if s.images, note, err = imagesettings.Of(c, rules.Sections, s.state); note != "" {
			s.notes = append(s.notes, note)
		}
	}
	if err != nil {
		return container.Config{}, err
	}
	if owner == nil {
		note, err := checkRoot(c, os.Geteuid())
		if err != nil {
			return container.Config{}, err
		}
		if note != "" {
			s.notes = append(s.notes, note)
		}
	}
	if len(ignored) > 0 {
		s.notes = append(s.notes, fmt.Sprintf("These settings of %s have no effect: %s", runas.File, strings.Join(ignored, ", ")))
	}
	track := 10 * time.Minute
	if c.IsSet("yarn.nodemanager.duration-to-track-stopped-containers") {
		track = c.Duration("yarn.nodemanager.duration-to-track-stopped-containers")
	}
	return container.Config{
		Types: s.types,
		Rules: enclosure.Rules{
			Resource: s.resource, Cores: s.cores,
			LimitMemory: limitsMemory(c),
			StrictCPU:   c.Bool("yarn.nodemanager.linux-container-executor.cgroups.strict-resource-usage"),
			MaxPids:     int64(c.Int("heddle.container.max-pids")),
		},
		Home:           c.Text("yarn.nodemanager.user-home-dir"),
		EnvWhitelist:   c.Strings("yarn.nodemanager.env-whitelist"),
		AdminEnv:       c.Text("yarn.nodemanager.admin-env"),
		ForcePath:      c.Text("yarn.nodemanager.force.path"),
		Environ:        environ.Of(c.Dir(), os.LookupEnv),
		DebugInfo:      c.Bool("yarn.nodemanager.log-container-debug-info.enabled"),
		DeleteDelay:    c.Duration("yarn.nodemanager.delete.debug-delay-sec"),
		KillGrace:      c.Duration("yarn.nodemanager.sleep-delay-before-sigkill.ms"),
		KillWait:       c.Duration("yarn.nodemanager.process-kill-wait.ms"),
		StderrPattern:  c.Text("yarn.nodemanager.container.stderr.pattern"),
		StderrTail:     int64(c.Int("yarn.nodemanager.container.stderr.tail.bytes")),
		MaxDiagnostics: c.Int("yarn.nodemanager.container-diagnostics-maximum-size"),
		RetryMinimum:   c.Duration("yarn.nodemanager.container-retry-minimum-interval-ms"),
		VirtualRatio:   s.monitor.VirtualRatio,
		TrackStopped:   track,

		OpportunisticQueue: c.Int("yarn.nodemanager.opportunistic-containers-max-queue-length"),
		PauseOpportunistic: c.Bool("yarn.nodemanager.opportunistic-containers-use-pause-for-preemption"),

		BreathAllowance: int64(c.Int("heddle.container.breath-memory-mb")) << 20,
		BreathLength:    c.Duration("heddle.container.breath-ms"),

		Runtimes: launch.Runtimes{
			Allowed: c.Strings("yarn.nodemanager.runtime.linux.allowed-runtimes"), Usual: c.Text("yarn.nodemanager.runtime.linux.type"),
		},
		Owner: owner, RunsAs: c.ContainerUser,
		GPUs: s.gpus,
	}, nil
}

// limitsMemory reports whether the kernel holds containers to their memory. It does where physical memory is checked at all,
// unless it is configured to be left to the monitor, as in YARN by default: a JVM sizes its heap from such a limit, not from
// the machine.
func limitsMemory(c *conf.Config) bool {
	const enabled = "yarn.nodemanager.resource.memory.enabled"
	wanted := c.Bool("yarn.nodemanager.pmem-check-enabled")
	if c.IsSet(enabled) {
		wanted = c.Bool(enabled)
	}
	return wanted && c.Bool("yarn.nodemanager.resource.memory.enforced")
}

// gpus returns the GPUs that containers are to get, and enters their number into what the node has. Without the plugin that
// hands them out in YARN only their number may be known: then they are numbered from 0.
func gpus(c *conf.Config, types records.ResourceTypes, has *records.Resource) (*gpu.Pool, error) {
	const plugins = "yarn.nodemanager.resource-plugins"
	i, counted := types.Index(gpu.Type)
	if !slices.Contains(c.Strings(plugins), gpu.Type) {
		if !counted || has[i] == 0 {
			return nil, nil
		}
		return gpu.NewPool(gpu.Counted(has[i])), nil
	}
	if !counted {
		return nil, fmt.Errorf("%s has %s, and yarn.resource-types doesn't list it: add it there", plugins, gpu.Type)
	}
	const allowed = plugins + ".gpu.allowed-gpu-devices"
	text := c.Text(allowed)
	list := func() ([]gpu.Device, error) { return gpu.Parse(text) }
	if strings.EqualFold(text, "auto") {
		list = func() ([]gpu.Device, error) { return gpu.Discover("/dev") }
	}
	devices, err := list()
	if err == nil && len(devices) == 0 {
		err = errors.New("this machine has no /dev/nvidia*; list the GPUs, or take the plugin out")
	}
	if err != nil {
		return nil, fmt.Errorf("%s = %q: %w", allowed, text, err)
	}
	has[i] = int64(len(devices))
	return gpu.NewPool(devices), nil
}

// healthScripts returns the scripts that have a path. Settings of a script come before those of all.
func healthScripts(c *conf.Config) []health.Script {
	const prefix = "yarn.nodemanager.health-checker."
	var out []health.Script
	for _, name := range c.Strings(prefix + "scripts") {
		path := c.Text(prefix + name + ".path")
		if path == "" {
			continue
		}
		s := health.Script{
			Name: name, Path: path, Args: c.Strings(prefix + name + ".opts"),
			Interval: c.Duration(prefix + "interval-ms"), Timeout: c.Duration(prefix + "timeout-ms"),
		}
		if own := c.Duration(prefix + name + ".interval-ms"); own > 0 {
			s.Interval = own
		}
		if own := c.Duration(prefix + name + ".timeout-ms"); own > 0 {
			s.Timeout = own
		}
		out = append(out, s)
	}
	return out
}

const linuxExecutor = "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor"

// ownerOf returns the user that containers run as: nil for this process's own user, as with Hadoop's DefaultContainerExecutor.
// ignored are the settings of container-executor.cfg without effect.
func ownerOf(c *conf.Config, users *accounts) (owner func(string) (*userfiles.User, error), rules runas.Rules, ignored []string, err error) {
	const lce = "yarn.nodemanager.linux-container-executor."
	if c.Text("yarn.nodemanager.container-executor.class") != linuxExecutor {
		return nil, rules, nil, nil
	}
	if err := asRootOnly(); err != nil {
		return nil, rules, nil, err
	}
	rules, ignored, err = runas.Read(c)
	if err != nil {
		return nil, rules, nil, err
	}
	shared, err := sharedGroup(c, rules, account.System)
	if err != nil {
		return nil, rules, nil, err
	}
	pattern, err := regexp.Compile(c.Text(lce + "nonsecure-mode.user-pattern"))
	if err != nil {
		return nil, rules, nil, fmt.Errorf("%snonsecure-mode.user-pattern: %w", lce, err)
	}
	secured := secure.On(c)
	var mu sync.Mutex
	known := make(map[string]*userfiles.User)
	return func(submitter string) (*userfiles.User, error) {
		if !secured && !pattern.MatchString(submitter) {
			return nil, fmt.Errorf("invalid user name %q: it must match %snonsecure-mode.user-pattern, %s", submitter, lce, pattern)
		}
		name := c.ContainerUser(submitter)
		mu.Lock()
		o := known[name]
		mu.Unlock()
		if o != nil {
			return o, nil
		}
		// a look-up may take long, and must not hold up containers of others
		o, err := lookUp(name, rules, users, shared)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		known[name] = o
		return o, nil
	}, rules, ignored, nil
}

// uids returns the numbers of the users that containers run as; nil if that is this process's own.
func uids(owner func(string) (*userfiles.User, error)) func(string) (int, error) {
	if owner == nil {
		return nil
	}
	return func(submitter string) (int, error) {
		o, err := owner(submitter)
		if err != nil {
			return 0, err
		}
		return o.UID, nil
	}
}

// lookUp finds a user of the operating system that containers may run as.
func lookUp(name string, rules runas.Rules, users *accounts, shared int) (*userfiles.User, error) {
	a, err := users.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("containers can't run as %q: %w", name, err)
	}
	if err := rules.Check(name, a.UID); err != nil {
		return nil, err
	}
	return &userfiles.User{UID: a.UID, GID: a.GID, Groups: a.Groups, Shared: shared}, nil
}

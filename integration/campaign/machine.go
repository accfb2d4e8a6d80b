package campaign

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"heddle/integration/daemons"
	"heddle/integration/history"
	"heddle/integration/vm"
	"heddle/rm"
	"heddle/yarn/ipc"
)

// machine is a ResourceManager and a NodeManager in a virtual machine, with all their files on its disk. Clients are
// outside, so that they remember acknowledgements across a power cut.
type machine struct {
	cluster *daemons.Cluster // has the daemons' command lines; they run inside
	options vm.Options
	binary  string
	world   *history.World
	client  *ipc.Client
	work    *work
	log     func(string, ...any)

	// spoiled is odd while the disk, which clients use as well, takes no writes. It grows by one when that begins and
	// when it ends.
	spoiled atomic.Int32

	mu   sync.Mutex
	up   *vm.Machine // nil while the power is off
	came *sync.Cond
}

const (
	machineDisk  = 1 << 30
	machineNodes = 2 // simulated nodes outside
)

func newMachine(binary, dir string, r *rand.Rand, log func(string, ...any)) (_ *machine, err error) {
	m := &machine{binary: binary, log: log}
	m.came = sync.NewCond(&m.mu)
	set := siteOf("heddle-campaign")
	set["yarn.resourcemanager.bind-host"] = "0.0.0.0"
	// Everything is ten times slower inside.
	set["yarn.nm.liveness-monitor.expiry-interval-ms"] = "60000"
	set["yarn.am.liveness-monitor.expiry-interval-ms"] = "120000"
	set["yarn.resourcemanager.nodemanagers.heartbeat-interval-ms"] = "1000"
	if m.cluster, err = daemons.New(daemons.Options{
		Binary: binary, Dir: dir, ResourceManagers: 1, NodeManagers: 1, Memory: nodeMB, Direct: true, Set: set,
	}); err != nil {
		return nil, err
	}
	if m.work, err = newWork(binary, dir, m.cluster.Conf(), r); err != nil {
		return nil, errors.Join(err, m.cluster.Close())
	}
	m.work.runJob, m.work.output = m.runJob, m.outputOf
	m.client = ipc.NewClient(ipc.ClientConfig{ConnectTimeout: 5 * time.Second, CallTimeout: 30 * time.Second})
	m.world = newWorld(m.client, m.cluster.Addresses, machineNodes)
	m.options = vm.Options{Memory: 1536, Disks: []vm.Disk{{Path: filepath.Join(dir, "disk"), Size: machineDisk}}}
	for _, p := range m.cluster.Ports("rm1") {
		m.options.Forward = append(m.options.Forward, vm.Port{Host: p, Guest: p})
	}
	return m, nil
}

// boot switches the power on and starts the daemons. It checks the disk, because a power cut may have interrupted a
// write.
func (m *machine) boot(ctx context.Context) error {
	up, err := vm.Boot(ctx, m.options)
	if err != nil {
		return err
	}
	dir := m.cluster.Dir()
	script := fmt.Sprintf(`set -e
dmsetup create --noudevsync faulty --table "0 $(blockdev --getsz /dev/vda) linear /dev/vda 0"
if [ "$(blkid -o value -s TYPE /dev/dm-0)" = ext4 ]; then e2fsck -p /dev/dm-0 || [ $? -le 2 ]; else mkfs.ext4 -q -E lazy_itable_init=1 /dev/dm-0; fi
mount /dev/dm-0 /disk
if [ ! -e /disk/run/complete ]; then mkdir -p /disk/run; cp -a %[1]s/conf %[1]s/work %[1]s/staging %[1]s/rm1 %[1]s/nm1 /disk/run/; touch /disk/run/complete; sync; fi
mount --bind /disk/run %[1]s
`, dir)
	for _, name := range m.cluster.Daemons() {
		script += fmt.Sprintf("(set +e; while :; do sh -c 'echo $$ >/run/%[1]s.pid; exec %[2]s' >>%[3]s 2>&1 </dev/null; sleep 0.5; done) >/dev/null 2>&1 </dev/null &\n",
			name, strings.Join(m.cluster.Command(name), " "), m.cluster.LogFile(name))
	}
	if out, err := up.Run(ctx, script); err != nil {
		up.PowerCut()
		return fmt.Errorf("%w\n%s", err, out)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.up = up
	m.came.Broadcast()
	return nil
}

// cut cuts the power.
func (m *machine) cut() {
	m.mu.Lock()
	up := m.up
	m.up = nil
	m.mu.Unlock()
	if up != nil {
		up.PowerCut()
	}
}

// running waits until the power is on.
func (m *machine) running() *vm.Machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.up == nil {
		m.came.Wait()
	}
	return m.up
}

func (m *machine) run(ctx context.Context, format string, args ...any) (string, error) {
	return m.running().Run(ctx, fmt.Sprintf(format, args...))
}

// runJob runs a job's client inside. Its loss doesn't count if it went with the machine or waited for a disk that
// failed.
func (m *machine) runJob(ctx context.Context, args []string) (string, error) {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	spoiled := m.spoiled.Load()
	out, err := m.run(ctx, "cd / && HADOOP_CONF_DIR=%s HADOOP_USER_NAME=nobody HOME=/nonexistent exec setpriv --reuid=%d --regid=%d --clear-groups %s %s",
		m.cluster.Conf(), nobodyID, nobodyID, m.binary, strings.Join(quoted, " "))
	if errors.Is(err, vm.ErrDown) || err != nil && (spoiled%2 == 1 || m.spoiled.Load() != spoiled) {
		err = errGone
	}
	return out, err
}

func (m *machine) outputOf(ctx context.Context, dir string) (string, error) {
	out, err := m.run(ctx, "cat %s/part-*", dir)
	if errors.Is(err, vm.ErrDown) {
		err = errGone
	}
	return out, err
}

// play causes the faults of an episode in the machine, one after the other.
func (m *machine) play(ctx context.Context, ep episode) (history.Checked, error) {
	if err := m.boot(ctx); err != nil {
		return history.Checked{}, err
	}
	if err := m.ready(ctx); err != nil {
		return history.Checked{}, err
	}
	working, rest := context.WithCancel(ctx)
	defer rest()
	var peers sync.WaitGroup
	if err := m.world.Run(working, &peers); err != nil {
		return history.Checked{}, err
	}
	jobs := make(chan error, 1)
	finish := make(chan struct{})
	go func() { jobs <- m.work.loop(ctx, finish) }()
	var errs []error
	for _, f := range ep.faults {
		pause(ctx, f.Gap)
		m.log("%v", f)
		k := machineKinds[slices.IndexFunc(machineKinds, func(k machineKind) bool { return k.name == f.Kind })]
		if k.spoils {
			m.spoiled.Add(1)
		}
		lost := m.world.Lost()
		err := k.strike(ctx, m)
		pause(ctx, f.Hold)
		err = errors.Join(err, k.mend(ctx, m))
		if k.spoils {
			m.spoiled.Add(1)
		}
		if err = errors.Join(err, m.ready(ctx)); err != nil {
			return history.Checked{}, fmt.Errorf("%v: %w", f, err)
		}
		if n := m.world.Lost() - lost; k.spares && n > 0 {
			errs = append(errs, fmt.Errorf("%v: %d containers were lost", f, n))
		}
	}
	close(finish)
	errs = append(errs, <-jobs)
	rest()
	peers.Wait()
	checked, err := m.audit(ctx)
	return checked, errors.Join(append(errs, err)...)
}

// ready waits until the ResourceManager leads, its node has joined, and containers are granted.
func (m *machine) ready(ctx context.Context) error {
	nodes := len(m.cluster.NodeManagers)
	calls, _ := m.world.Count()
	if calls > 0 {
		nodes += machineNodes
	}
	if err := until(ctx, "the node in the virtual machine is active", func() bool {
		got, err := metricsOf(ctx, m.cluster.Addresses(rm.WebAddress))
		return err == nil && got.ActiveNodes >= nodes
	}); err != nil {
		return err
	}
	if calls == 0 {
		return nil // the clients haven't begun
	}
	m.world.ForgetGrants()
	select {
	case <-m.world.Granted():
		return nil
	case <-time.After(patience):
		return fmt.Errorf("no container was granted for %v", patience)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// audit cuts the power once more, checks that everything promised is there, ends all applications, and checks that
// nothing is left.
func (m *machine) audit(ctx context.Context) (history.Checked, error) {
	m.cut()
	if err := m.boot(ctx); err != nil {
		return history.Checked{}, err
	}
	lookErr := m.world.LookForAll(ctx)
	checked, err := m.world.Check()
	errs := []error{lookErr, err, killAll(ctx, m.client, m.cluster.Addresses)}
	const look = `for p in /proc/[0-9]*; do if tr '\0' '\n' <$p/environ 2>/dev/null | grep -q ^CONTAINER_ID=; then tr '\0' ' ' <$p/cmdline; echo; fi; done
find /sys/fs/cgroup -type d -name 'container_*'`
	var left string
	if err := until(ctx, "no process and no cgroup is left", func() bool {
		left, err = m.run(ctx, look)
		return err == nil && left == ""
	}); err != nil {
		errs = append(errs, fmt.Errorf("%w: %s", err, left))
	}
	panics, err := m.run(ctx, `grep -E -A 30 '^panic: |^fatal error: |panicked' %s/*.log || true`, m.cluster.Dir())
	if panics != "" {
		errs = append(errs, fmt.Errorf("daemons panicked:\n%s", panics))
	}
	return checked, errors.Join(append(errs, err)...)
}

// close switches the machine off and saves its daemons' logs. If something has failed, the logs have the goroutines'
// stacks.
func (m *machine) close(failed bool) error {
	m.mu.Lock()
	up := m.up
	m.mu.Unlock()
	var errs []error
	if up != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if failed {
			out, err := up.Run(ctx, "ps axww -o pid,ppid,stat,etime,args; df /disk; mount; cat /run/*.pid; kill -QUIT $(cat /run/*.pid); sleep 2; dmesg | tail -n 50")
			errs = append(errs, err, os.WriteFile(filepath.Join(m.cluster.Dir(), "machine.log"), []byte(out), 0o644))
		}
		for _, name := range m.cluster.Daemons() {
			out, err := up.Run(ctx, "tail -c 2000000 "+m.cluster.LogFile(name))
			errs = append(errs, err, os.WriteFile(m.cluster.LogFile(name), []byte(out), 0o644))
		}
	}
	m.cut()
	m.client.Close()
	return errors.Join(append(errs, m.cluster.Close())...)
}

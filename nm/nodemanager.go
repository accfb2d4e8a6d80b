package nm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/user"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/rpc"
	"heddle/conf/secure"
	"heddle/conf/serviceacl"
	"heddle/conf/ssl"
	"heddle/hdfsadapter"
	"heddle/internal/connections"
	"heddle/internal/listen"
	"heddle/internal/machine"
	"heddle/internal/within"
	"heddle/nm/auxservices"
	"heddle/nm/cgroup"
	"heddle/nm/container"
	"heddle/nm/deletion"
	"heddle/nm/disks"
	"heddle/nm/health"
	"heddle/nm/heartbeat"
	"heddle/nm/image"
	"heddle/nm/jvmarchive"
	"heddle/nm/localizer"
	"heddle/nm/monitor"
	"heddle/nm/nodeattributes"
	"heddle/nm/nodelabels"
	"heddle/nm/proc"
	"heddle/nm/service"
	"heddle/nm/shorttasks"
	"heddle/nm/sources"
	"heddle/nm/store"
	"heddle/nm/suspend"
	"heddle/nm/systemcredentials"
	"heddle/nm/warming"
	"heddle/yarn/ipc"
	"heddle/yarn/kerberos/login"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// NodeManager is one life of a node. Make it with New, then call Run once, or Close.
type NodeManager struct {
	o        Options
	s        settings
	log      *logrus.Entry
	started  time.Time
	identity identity
	rm       atomic.Int64 // the ResourceManager's identifier

	state       *store.Store
	disks       *disks.Disks
	source      localizer.Source
	files       *hdfsadapter.Adapter
	logs        Logs
	keepLogs    *appLogs // nil: another's
	deleter     *deletion.Service
	keys        *service.Keys
	users       func(name string) (groups []string, err error)
	system      systemcredentials.Held // of the ResourceManager's, for users' applications
	groups      cgroup.Handler
	lent        cgroup.Parent // of executors of short tasks; nil: nothing holds them together
	unbounded   string        // why it doesn't; "": it does, or there are none
	localizer   *localizer.Localizer
	aux         *auxservices.Services
	timelines   timelines
	containers  *container.Manager
	monitor     *monitor.Monitor
	warmer      *warming.Warmer // nil: nothing is read ahead of maps
	sampler     *machine.Sampler
	health      *health.Checker
	labels      *nodelabels.Provider // nil: the node says nothing of labels
	attributes  *nodeattributes.Provider
	service     *service.Service
	web         *webServer
	sendMetrics func(context.Context) // until the context ends
	updater     atomic.Pointer[heartbeat.Updater]
	shortTasks  *shorttasks.Node // nil: none are taken
	metrics     *prometheus.Registry

	listener, webListener net.Listener
	server                *ipc.Server
	client                *ipc.Client
	login                 *login.Login // nil: without Kerberos
	closers               []func()
	forget                bool // remove the state
}

// New makes a NodeManager. It opens state and ports and takes up the containers of an earlier life; nothing is
// answered or told before Run.
func New(o Options) (*NodeManager, error) {
	n := &NodeManager{o: o, log: o.Log, started: time.Now(), metrics: prometheus.NewRegistry()}
	var err error
	if n.s, err = readSettings(o.Conf); err != nil {
		return nil, err
	}
	n.log = n.log.WithField("node", n.s.address.String())
	for _, note := range n.s.notes {
		n.log.Warn(note)
	}
	for _, step := range []func() error{
		n.openKerberos, n.openState, n.openPorts, n.openDisks, n.openGroups, n.openFiles, func() error { return openTimelines(n) }, n.openServices, n.openContainers, n.openProtocols, n.openWeb,
	} {
		if err := step(); err != nil {
			n.Close()
			return nil, err
		}
	}
	return n, nil
}

// closing has f called when the NodeManager is closed, after everything that was opened later.
func (n *NodeManager) closing(f func()) { n.closers = append(n.closers, f) }

// Close releases everything. Containers continue. After Run there is nothing left to close.
func (n *NodeManager) Close() {
	for len(n.closers) > 0 {
		last := len(n.closers) - 1
		n.closers[last]()
		n.closers = n.closers[:last]
	}
}

// openKerberos logs in, if the cluster has Kerberos. It comes first: without a login the node is of no use.
func (n *NodeManager) openKerberos() error {
	if !secure.On(n.o.Conf) {
		return nil
	}
	a, err := secure.NodeManager(n.o.Conf)
	if err == nil {
		n.login, err = a.Login()
	}
	return err
}

// keepLogin logs in again in time, until ctx ends.
func (n *NodeManager) keepLogin(ctx context.Context) {
	n.login.Keep(ctx, func(err error, until time.Time) {
		n.log.WithError(err).Warnf("the login to Kerberos can't be renewed; the one that is there holds until %v", until.Local().Format(time.DateTime))
	})
}

func (n *NodeManager) openState() (err error) {
	if n.state, err = store.Open(n.s.state); err != nil {
		return err
	}
	n.closing(func() {
		if err := n.state.Close(); err != nil {
			n.log.WithError(err).Error("could not close the state")
		}
		if !n.forget {
			return
		}
		if err := n.state.Remove(); err != nil {
			n.log.WithError(err).Warn("could not remove the state")
		}
	})
	n.s.accounts.keep(n.state.Bucket("accounts"), n.log)
	n.identity, err = checkIdentity(&n.s, n.state)
	n.rm.Store(n.identity.RMIdentifier)
	return err
}

// openPorts opens the ports that the node is known by. They stay closed to callers until Run: connections wait.
func (n *NodeManager) openPorts() (err error) {
	var port, webPort int
	counter, err := connections.New(n.o.Conf, n.o.Log)
	if err != nil {
		return err
	}
	if n.listener, port, err = n.identity.listen(n.s.listen, n.identity.Port, "yarn.nodemanager.address"); err != nil {
		return err
	}
	n.listener = counter.Listen(n.listener, "yarn.nodemanager.address")
	n.closing(func() { n.listener.Close() })
	web := conf.WebKey(n.o.Conf, "yarn.nodemanager.")
	if n.webListener, webPort, err = n.identity.listen(n.s.webBind, n.identity.WebPort, web); err != nil {
		return err
	}
	n.webListener = counter.Listen(n.webListener, web)
	n.closing(func() { n.webListener.Close() })
	n.identity.Host, n.identity.Port, n.identity.WebPort = n.s.address.Host, port, webPort
	n.identity.ClusterID = n.s.clusterID
	n.log = n.o.Log.WithField("node", n.identity.node().String())
	n.s.container.Node, n.s.container.HTTPPort = n.identity.node(), webPort
	if err := n.state.Bucket("node").PutJSON(identityKey, n.identity); err != nil {
		return err
	}
	n.keys, err = service.NewKeys(n.identity.node(), n.state.Bucket("keys"), n.log)
	return err
}

func (n *NodeManager) openDisks() (err error) {
	if n.disks, err = disks.New(n.s.disks, n.log, nil); err != nil {
		return err
	}
	n.deleter, err = deletion.New(deletion.Options{
		Roots: append(append([]string{}, n.s.disks.Local...), n.s.disks.Logs...), Delay: n.s.container.DeleteDelay,
		Workers: n.o.Conf.Int("yarn.nodemanager.delete.thread-count"), Bucket: n.state.Bucket("deletion"), Log: n.log,
	})
	if err != nil {
		return err
	}
	n.health, err = health.New(health.Options{
		Disks:         withState{n.disks, n.s.state, n.state.Waiting, n.s.disks.Patience},
		DisksInterval: n.s.disksInterval, Scripts: n.s.scripts, Changed: n.kick, Log: n.log,
	})
	var says [2]error
	n.labels, says[0] = nodelabels.Of(n.o.Conf, n.kick, n.log)
	n.attributes, says[1] = nodeattributes.Of(n.o.Conf, n.kick, n.log)
	return errors.Join(err, says[0], says[1])
}

// kick has the ResourceManager told at once that something has changed.
func (n *NodeManager) kick() {
	if u := n.updater.Load(); u != nil { // containers are taken up before there is one
		u.Kick()
	}
}

func (n *NodeManager) openGroups() (err error) {
	id, err := n.s.groupID()
	if err != nil {
		return err
	}
	o := n.s.cgroup
	o.ID, o.Log, o.First = id, n.log, true
	if n.groups, err = cgroup.Detect(o); err != nil {
		return err
	}
	n.closing(func() {
		if err := n.groups.Close(); err != nil {
			n.log.WithError(err).Warn("could not leave the cgroups")
		}
	})
	c := n.groups.Capabilities()
	n.log.Infof("containers are held by cgroups of kind %s", n.groups.Kind())
	for _, m := range c.Missing {
		n.log.Warnf("not guaranteed on this node: %s", m)
	}
	n.openLent()
	return nil
}

// openFiles prepares the way to the files that containers need, and to where their logs go.
func (n *NodeManager) openFiles() error {
	files, err := n.hdfs()
	if err != nil {
		return err
	}
	n.closing(func() { files.Close() })
	n.files = files
	usual := localizer.OnHDFS(files, localizer.LocalFiles{Owner: n.s.container.Owner})
	if n.source = n.o.Source; n.source == nil {
		trust, err := ssl.Client(n.o.Conf)
		if err != nil {
			n.log.WithError(err).Warn("Files of swebhdfs are read from servers that this machine's authorities know")
		}
		n.source = sources.All(sources.Options{
			Trust: trust, Conf: n.o.Conf, Usual: usual, Others: usual,
		})
	}
	if err := n.openWarming(files); err != nil {
		return err
	}
	if n.logs = n.o.Logs; n.logs != nil {
		return nil
	}
	own, err := newAppLogs(n.o.Conf, n.disks.Logs, files, n.identity.node(), uids(n.s.container.Owner), n.state.Bucket("logs"), n.log, n.kick, n.system.For)
	if err != nil {
		return err
	}
	n.closing(own.stop)
	n.logs, n.keepLogs = own, own
	return nil
}

func (n *NodeManager) openServices() (err error) {
	c := n.o.Conf
	n.localizer, err = localizer.New(localizer.Config{
		Dirs: n.disks.Local, Source: n.source, Store: n.state.Bucket("localizer"), Log: n.log, Owner: n.s.container.Owner, Credentials: n.system.For,
		TargetSize: int64(c.Int("yarn.nodemanager.localizer.cache.target-size-mb")) << 20,
		Interval:   c.Duration("yarn.nodemanager.localizer.cache.cleanup.interval-ms"),
		Threads:    c.Int("yarn.nodemanager.localizer.fetch.thread-count"),
		MaxFiles:   c.Int("yarn.nodemanager.local-cache.max-files-per-directory"),
	})
	if err != nil {
		return err
	}
	n.closing(n.localizer.Close)
	if err := n.localizer.Recover(); err != nil {
		return err
	}
	if err := n.openAux(); err != nil {
		return err
	}
	for _, m := range n.localizer.Collectors() {
		if err := n.metrics.Register(m); err != nil {
			return err
		}
	}
	return nil
}

// openArchives opens archives of classes. Answers after ctx has ended are not used.
func openArchives(ctx context.Context, cfg jvmarchive.Config) (*jvmarchive.Store, error) {
	s, err := jvmarchive.Open(cfg)
	if err == nil && ctx.Err() != nil {
		s.Close()
		return nil, ctx.Err()
	}
	return s, err
}

func (n *NodeManager) openContainers() error {
	served, err := n.aux.Start()
	n.closing(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		n.aux.Stop(ctx)
	})
	if err != nil {
		return err
	}
	var archives container.JavaArchives
	if cfg := n.s.archives; cfg != nil {
		cfg.Log, cfg.Unseat = n.log, n.groups.Unseat
		ctx, cancel := context.WithTimeout(context.Background(), n.s.disks.Patience)
		defer cancel()
		if store, err := within.Do(ctx, func() (*jvmarchive.Store, error) { return openArchives(ctx, *cfg) }); err != nil {
			n.log.WithError(err).Warn("Java programs start without archives of classes")
		} else {
			n.closing(store.Close)
			archives = store
		}
	}
	images, err := image.Open(n.s.images, n.log, n.source)
	if err != nil {
		return err
	}
	n.closing(images.Close)
	witness := n.timelines.witness
	n.containers = container.NewManager(container.Options{
		Archives: archives, Images: images, Localized: witness.Localizing(n.localized()), Observed: witness.Observing(),
		Config: n.s.container, Disks: n.disks, Groups: n.containerGroups(), Localizer: n.localizer, Logs: n.logs, Aux: witness.Beside(n.aux),
		Deleter: n.deleter, Log: n.log, Changed: n.kick, Doubt: n.health.Doubt, Pressure: suspend.MachinePressure,
		ContainerRecords: n.state.Bucket("containers"), AppRecords: n.state.Bucket("applications"), StoppedRecords: n.state.Bucket("stopped"),
	})
	n.closing(n.containers.Close)
	if err := n.containers.Recover(); err != nil {
		return err
	}
	if err := serveCollectors(n); err != nil {
		return err
	}
	n.endExecutors()
	here := func(app records.ApplicationID) bool {
		_, here := n.containers.Application(app)
		return here
	}
	n.aux.Recovered(served, here)
	if n.keepLogs != nil {
		n.keepLogs.adopt(here)
	}
	watch := n.s.monitor
	watch.ByKernel = n.s.container.LimitMemory && n.groups.Capabilities().MemoryLimit
	n.monitor = monitor.New(witness.Measuring(n.containers), watch, n.log)
	n.sampler = machine.NewSampler("/")
	return nil
}

func (n *NodeManager) openProtocols() error {
	tracker := n.o.Tracker
	var err error
	if tracker == nil {
		if tracker, err = n.resourceManager(); err != nil {
			return err
		}
	}
	ip := listen.AddressOf(n.identity.Host)
	n.service = service.New(service.Options{
		Containers: n.containers, Keys: n.keys, Aux: n.aux, Types: n.s.types, Node: n.identity.node(), IP: ip,
		RMIdentifier: n.rm.Load, SuspendTimeout: n.s.suspend, Log: n.log, Now: time.Now, Changed: n.kick,
	})
	memory := n.o.Conf.Int("heddle.port.memory-mb") << 20
	protection, err := rpc.Protection(n.o.Conf)
	if err != nil {
		return err
	}
	policy, users, err := serviceacl.WithGroups(n.o.Conf, n.log)
	n.users = users
	if err != nil {
		return err
	}
	var admits serviceacl.Live
	admits.Set(policy)
	if n.server, err = ipc.NewServer(ipc.ServerConfig{
		Auth: ipc.AuthToken, Secrets: n.keys, Protection: protection, Authorize: admits.Authorize, Log: n.log,
		MaxDataLength: n.o.Conf.Int("ipc.maximum.data.length"), MaxRequests: memory, MaxReplies: memory,
	}); err != nil {
		return err
	}
	n.service.Serve(n.server)
	capable := &pb.NodeCapabilities{}
	capable.SetRelease(conf.Version)
	c := n.groups.Capabilities()
	features := c.Features()
	if c.Suspend {
		features = append(features, "levels") // it takes orders
	}
	capable.SetFeatures(features)
	if n.unbounded != "" {
		c.Missing = append(c.Missing, n.unbounded)
	}
	capable.SetMissing(c.Missing)
	probing, err := n.openProbes(capable)
	if err != nil {
		return err
	}
	o := heartbeat.Options{
		Tracker: tracker, Node: n.identity.node(), IP: ip, HTTPPort: n.identity.WebPort, Version: conf.HadoopVersion,
		Types: n.s.types, Resource: n.s.resource, Physical: n.s.physical, Capabilities: capable,
		Containers: n.containers, Service: n.service, Keys: n.keys, Health: n.healthStatus, Use: n.sampler.Last, Pressure: suspend.MachinePressure,
		Logs: n.logs, Outputs: n.aux.Outputs(), Warming: n.warmer, Labels: n.labels, Attributes: n.attributes, Log: n.log, Registered: n.registered, System: n.system.Set,
		ShortTasks: probing,
	}
	if n.timelines.collectors != nil {
		o.Collectors = n.timelines.collectors
	}
	n.updater.Store(heartbeat.New(o))
	return nil
}

// resourceManager returns whichever ResourceManager is active.
func (n *NodeManager) resourceManager() (ipc.Invoker, error) {
	at, err := n.o.Conf.RMAddresses("yarn.resourcemanager.resource-tracker.address")
	if err != nil {
		return nil, err
	}
	addrs := make([]string, 0, len(at))
	for _, a := range at {
		addrs = append(addrs, a.String())
	}
	// A heartbeat that isn't answered soon is repeated: its ResourceManager may be cut off without knowing.
	protection, err := rpc.Protection(n.o.Conf)
	if err != nil {
		return nil, err
	}
	n.client = ipc.NewClient(ipc.ClientConfig{ConnectTimeout: 5 * time.Second, CallTimeout: 10 * time.Second, Protection: protection, Log: n.log})
	n.closing(n.client.Close)
	policy := ipc.RetryPolicy{MaxElapsed: n.s.patience, Max: 2 * time.Second, Waiting: n.waiting(addrs)}
	who, err := n.identify()
	if err != nil {
		return nil, err
	}
	return n.client.Failover(addrs, protocol.ResourceTracker, who, policy), nil
}

// identify returns who the node is for the ResourceManager: one that proves it, by Kerberos or if there is a secret.
func (n *NodeManager) identify() (ipc.Identity, error) {
	if n.login != nil {
		tickets, err := secure.ForResourceManagers(n.o.Conf, n.login)
		return ipc.Identity{User: n.login.Principal(), Kerberos: tickets}, err
	}
	s, err := readSecret(n.o.Conf)
	if err != nil || s == nil {
		return ipc.Identity{User: ownName()}, err
	}
	t := token.Node(s.Key(token.NodeKeyUse, token.NodeKeyLength), n.identity.node())
	return ipc.Identity{User: ownName(), Token: &t, RequireToken: !n.o.Conf.AdmitsStrangers()}, nil
}

// waiting returns a function that says in the log that no ResourceManager answers: when it has been so for a second, as a
// change of leaders takes less, and once a minute from then on.
func (n *NodeManager) waiting(addrs []string) func(error, time.Duration) {
	var mu sync.Mutex
	var last time.Time
	return func(err error, since time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		if since < time.Second || time.Since(last) < time.Minute {
			return
		}
		last = time.Now()
		n.log.WithError(err).Warnf("no ResourceManager answers at %s (yarn.resourcemanager.resource-tracker.address); trying on",
			strings.Join(addrs, ", "))
	}
}

// ownName returns the user that this process runs as.
func ownName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "nodemanager"
}

// registered stores the ResourceManager that the node is registered with. It doesn't wait for the disk, as heartbeats come after it.
func (n *NodeManager) registered(rmIdentifier int64) {
	n.rm.Store(rmIdentifier)
	id := n.identity // which others read
	id.RMIdentifier = rmIdentifier
	text, err := json.Marshal(id)
	if err != nil {
		n.log.WithError(err).Error("could not note down with whom the node is registered")
		return
	}
	written := n.state.Bucket("node").Begin(identityKey, text)
	go func() {
		if err := <-written; err != nil {
			n.log.WithError(err).Error("could not note down with whom the node is registered")
		}
	}()
}

// Node returns the id that the node is known by.
func (n *NodeManager) Node() records.NodeID { return n.identity.node() }

// WebAddress returns where the node's REST API and pages are.
func (n *NodeManager) WebAddress() string {
	return net.JoinHostPort(n.identity.Host, fmt.Sprint(n.identity.WebPort))
}

// Containers returns the node's containers.
func (n *NodeManager) Containers() *container.Manager { return n.containers }

// Run works until ctx ends, or the ResourceManager sends the node away (heartbeat.ErrShutdown) or can't be reached for
// too long. Everything is closed then.
func (n *NodeManager) Run(ctx context.Context) error {
	defer n.Close()
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	if n.o.Subreaper {
		if err := proc.BecomeSubreaper(); err != nil {
			n.log.WithError(err).Warn("orphans of containers will be left to the system's first process")
		}
		running.Go(func() { proc.Reap(background, 5*time.Second) })
	}
	if n.login != nil {
		running.Go(func() { n.keepLogin(background) })
	}
	running.Go(func() { n.deleter.Run(background) })
	running.Go(func() { n.localizer.Run(background) })
	running.Go(func() { n.health.Run(background) })
	running.Go(func() { n.labels.Run(background) })
	running.Go(func() { n.attributes.Run(background) })
	running.Go(func() { n.monitor.Run(background) })
	running.Go(func() { n.sample(background) })
	if n.warmer != nil {
		running.Go(func() { n.warmer.Run(background) })
	}
	if n.keepLogs != nil {
		running.Go(func() { n.keepLogs.keeper.Run(background) })
	}

	running.Go(func() { n.sendMetrics(background) })

	fail := make(chan error, 2)
	running.Go(func() {
		if err := n.server.Serve(n.listener); !errors.Is(err, ipc.ErrServerClosed) {
			fail <- err
		}
	})
	running.Go(func() {
		if err := n.web.serve(n.webListener); err != nil {
			fail <- err
		}
	})
	defer n.web.close()
	defer n.server.Close()

	beating, stop := context.WithCancel(ctx)
	defer stop()
	told := make(chan error, 1)
	running.Go(func() { told <- n.updater.Load().Run(beating) })
	var err error
	select {
	case err = <-told:
	case err = <-fail:
		stop()
		<-told
	}
	return errors.Join(err, n.leave(err))
}

// leave ends the node's work: containers are killed, unless the node is about to be started again.
func (n *NodeManager) leave(why error) error {
	sent := errors.Is(why, heartbeat.ErrShutdown)
	if !sent && (why != nil || n.s.supervised) {
		n.containers.Block()
		return nil
	}
	n.log.Info("stopping: containers are killed")
	ctx, cancel := context.WithTimeout(context.Background(), n.s.container.KillGrace+n.s.container.KillWait+10*time.Second)
	defer cancel()
	n.containers.Block()
	for _, app := range n.containers.Applications() {
		n.containers.FinishApplication(app.ID, "Application killed on shutdown")
	}
	err := errors.Join(n.containers.KillAll(ctx, records.ExitAborted, "Application killed on shutdown\n"), n.containers.WaitIdle(ctx), n.deleter.Drain(ctx))
	if sent {
		n.forget = true // as the ResourceManager has
		return err
	}
	n.unregister()
	return err
}

// unregisterLimit is how long a ResourceManager may take to hear that the node goes away. One that doesn't will find
// out when the heartbeats stay away.
const unregisterLimit = 3 * time.Second

func (n *NodeManager) unregister() {
	ctx, cancel := context.WithTimeout(context.Background(), unregisterLimit)
	defer cancel()
	if err := n.updater.Load().Unregister(ctx); err != nil {
		n.log.WithError(err).Warn("could not unregister the node from the ResourceManager")
	}
}

// sample measures what is in use on the machine.
func (n *NodeManager) sample(ctx context.Context) {
	tick := time.NewTicker(n.s.monitor.Interval)
	defer tick.Stop()
	for {
		if _, err := n.sampler.Sample(); err != nil {
			n.log.WithError(err).Warn("could not measure the use of the machine")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

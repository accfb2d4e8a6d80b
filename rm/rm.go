package rm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/rpc"
	"heddle/conf/serviceacl"
	"heddle/conf/ssl"
	"heddle/hdfsadapter"
	"heddle/internal/awake"
	"heddle/internal/connections"
	"heddle/rm/access"
	"heddle/rm/audit"
	"heddle/rm/door"
	"heddle/rm/feed"
	"heddle/rm/labels/stock"
	"heddle/rm/leader"
	"heddle/rm/leader/nodelabels"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/rm/queue"
	"heddle/rm/raft"
	"heddle/rm/raft/compact"
	"heddle/rm/recording"
	"heddle/rm/service"
	"heddle/rm/service/certificates"
	"heddle/rm/service/identity"
	"heddle/rm/timelineservice"
	"heddle/rm/topology"
	"heddle/rm/view"
	"heddle/yarn/account"
	"heddle/yarn/acl"
	"heddle/yarn/ipc"
	"heddle/yarn/proxyca"
	"heddle/yarn/records"
	"heddle/yarn/rest/port"
)

// Options configure a ResourceManager.
type Options struct {
	Conf *conf.Config // must be validated
	ID   string       // own id among several; by default found in the configuration
	Log  *logrus.Entry
	// Web makes the handler of the web port; rest.Of is the production one. If the handler has a method
	// Run(context.Context), Run calls it.
	Web func(*ResourceManager) (http.Handler, error)
	// Record names the file to which the scheduler's events are written while this member leads; "" is none.
	Record string
}

// Ports of a ResourceManager, named by the configuration key of their address.
const (
	ClientAddress  = "yarn.resourcemanager.address"
	MasterAddress  = "yarn.resourcemanager.scheduler.address"
	TrackerAddress = "yarn.resourcemanager.resource-tracker.address"
	AdminAddress   = "yarn.resourcemanager.admin.address"
	WebAddress     = "yarn.resourcemanager.webapp.address" // with HTTPS at yarn.resourcemanager.webapp.https.address
	ProxyAddress   = "yarn.web-proxy.address"              // opened only if it is set, and is an address of this machine
)

// ResourceManager is one of a cluster's ResourceManagers.
//
// It has many methods because RPC, REST and administration see it by their interfaces.
type ResourceManager struct {
	// Feed has the last events of the cluster, as this member has followed them.
	Feed *feed.Feed

	conf     *conf.Config
	id       string
	log      *logrus.Entry
	settings leader.Settings
	login    string // the user who runs this process
	// groups returns the groups of a user.
	groups   func(user string) ([]string, error)
	access   *access.Checker
	accounts *account.Directory
	proxies  atomic.Pointer[acl.ProxyUsers]
	policy   serviceacl.Live
	own      ownAccount
	replica  *replica
	raft     *raft.Node
	leading  atomic.Pointer[leader.Leader]
	newest   int32 // version of the ledger that it reports as the newest it can apply
	newKey   func(ledgerpb.KeyKind) (int32, []byte, error)
	racks    *topology.Mapping
	launcher *service.Launcher
	hdfs     *hdfsadapter.Adapter        // renews tokens; nil if HDFS isn't used
	timeline *timelineservice.Publishers // nil: nothing is published
	view     *view.Viewer
	door     *door.Door
	audit    *audit.Log
	// fileInterval is how often a FairScheduler's file is checked.
	fileInterval time.Duration

	counter   *connections.Counter
	listeners map[string]net.Listener
	servers   map[string]*ipc.Server
	closing   chan struct{} // closed when Close begins
	failed    chan error    // receives the error for which this member must stop
	closeOnce sync.Once
	offers    struct { // members that were offered leadership before this one took it; used by one goroutine
		leaders int64
		to      map[string]bool
	}
	// web serves the web port, proxyWeb the proxy's own port if it has one.
	web, proxyWeb *port.Server
	beside        func(context.Context) // what the web port's handler does besides, until the context ends; may be nil
	record        *recording.Recording  // nil: the scheduler's events are not recorded
}

// New opens the ports and the state of a ResourceManager. Call Run to serve, or Close to give up; one of them must be called.
func New(o Options) (*ResourceManager, error) {
	r := &ResourceManager{
		conf: o.Conf, listeners: map[string]net.Listener{}, servers: map[string]*ipc.Server{}, closing: make(chan struct{}),
		failed: make(chan error, 1), newKey: newKey, newest: ledger.Version,
		fileInterval: fairFileInterval,
	}
	p, err := prepare(o.Conf, o.ID, o.Log)
	if err != nil {
		return nil, err
	}
	r.id, r.log = p.id, o.Log.WithField("rm", p.id)
	if err := r.open(o, p); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *ResourceManager) open(o Options, p *prepared) error {
	var err error
	types := p.types
	r.racks = topology.New(r.conf, r.log)
	r.counter = connections.With(p.connections, r.log)
	for _, key := range []string{ClientAddress, MasterAddress, TrackerAddress, AdminAddress, WebAddress} {
		if err := r.listen(key); err != nil {
			return err
		}
	}
	if err := r.listenForProxy(); err != nil {
		return err
	}
	r.Feed = feed.New()
	r.settings = settings(r.conf, r.id, types)
	r.openAccess(p)
	r.policy.Set(p.policy)
	if r.own, err = openAccount(r.conf, p); err != nil {
		return err
	}
	r.view = &view.Viewer{Source: r, Types: types, Now: time.Now, Web: r.webAddress(), Proxy: r.proxyAddress(), Scheme: ssl.Scheme(r.conf), Labelled: r.settings.Labels.Enabled, NoLogs: !r.conf.Bool("yarn.log-aggregation-enable"), KeepTagCase: !r.conf.Bool("yarn.resourcemanager.application-tag-based-placement.force-lowercase")}
	r.settings.PageURL = r.view.PageURL
	if r.audit, err = audit.Open(r.conf.Text("heddle.audit.file"), r.log, time.Now); err != nil {
		return fmt.Errorf("heddle.audit.file: %w", err)
	}
	r.door = door.New(door.Config{View: r.view, Access: r.access, Audit: r.audit})
	r.settings.Ended = r.door.Ended
	if r.hdfs, err = openHDFS(r); err != nil {
		r.log.WithError(err).Info("tokens of HDFS in applications' credentials are not renewed")
	} else if r.own.account != nil && r.conf.Bool("yarn.resourcemanager.proxy-user-privileges.enabled") {
		r.settings.TokenCalls.Proxy.Get = r.hdfs
	}
	if p.timeline != nil {
		r.timeline = timelineservice.Start(p.timeline, r.login, r.own.web, r.collecting, r.view, r.log)
	}
	if err := r.serve(types, p); err != nil {
		return err
	}
	if r.record, err = recording.Open(r.conf, o.Record, r.id, r.log); err != nil {
		return err
	}
	if err := r.openWeb(o, p); err != nil {
		return err
	}
	return r.join(p)
}

// Recording returns the record of the scheduler's events; nil: there is none.
func (r *ResourceManager) Recording() *recording.Recording { return r.record }

// serve sets up the protocols.
func (r *ResourceManager) serve(types records.ResourceTypes, p *prepared) error {
	protection, err := rpc.Protection(r.conf)
	if err != nil {
		return err
	}
	svc := service.New(service.Config{
		Backend: r, View: r.view, Types: types,
		Expiry:     r.settings.AllocationExpiry,
		Heartbeat:  r.settings.HeartbeatInterval,
		Resolve:    lookUp,
		Groups:     r.groups,
		Refresh:    r.Refresh,
		Access:     r.access,
		Door:       r.door,
		Queues:     r.settings.Live,
		Hosts:      HostFiles(r.conf),
		Handed:     r.settings.TokenCalls.Handed,
		Collectors: appCollectors(r),
		Identity:   identity.Names{Login: r.login, Kerberos: r.own.acceptor(), Rules: p.names.Short},

		FilterByUser: r.conf.Bool("yarn.webapp.filter-entity-list-by-user"),
		ClientTokens: r.conf.Bool("heddle.am.client-tokens") || r.own.account != nil,
		ServiceACLs:  serviceacl.Enabled(r.conf),
		Log:          r.log,
	})
	r.launcher = &service.Launcher{
		Service: svc,
		Issuer:  &certificates.Issuer{Policy: r.conf.Text(proxyca.Key), Log: r.log},
		Client:  ipc.NewClient(ipc.ClientConfig{ConnectTimeout: 5 * time.Second, CallTimeout: 20 * time.Second, Protection: protection, Log: r.log}),
	}
	nodes := r.nodePort(svc, p)
	for key, port := range map[string]service.Port{
		ClientAddress: svc.Clients(), MasterAddress: svc.Masters(), TrackerAddress: nodes, AdminAddress: svc.Admins(),
	} {
		cfg := port.Config
		cfg.Log = r.log.WithField("port", key)
		cfg.Protection = protection
		cfg.MaxDataLength = r.conf.Int("ipc.maximum.data.length")
		cfg.MaxRequests = r.conf.Int("heddle.port.memory-mb") << 20
		cfg.MaxReplies = cfg.MaxRequests
		cfg.Short = p.names.Short
		cfg.Authorize = r.policy.Authorize
		cfg.MayImpersonate = func(realUser, user string, from netip.Addr) error {
			err := r.MayActFor(context.Background(), realUser, user, from)
			if err != nil {
				return ipc.NewException(ipc.AuthorizationException, "%v", err)
			}
			return nil
		}
		server, err := ipc.NewServer(cfg)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		port.Serve(server)
		r.servers[key] = server
	}
	return nil
}

// Run serves until ctx ends, and then closes the ResourceManager. It returns an error at once when this member can't continue; a supervisor
// should then restart the process.
func (r *ResourceManager) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for key, s := range r.servers {
		running.Go(func() {
			if err := s.Serve(r.listeners[key]); err != nil && !errors.Is(err, ipc.ErrServerClosed) {
				cancel(fmt.Errorf("%s: %w", key, err))
			}
		})
	}
	for key, web := range map[string]*port.Server{WebAddress: r.web, ProxyAddress: r.proxyWeb} {
		if l := r.listeners[key]; l != nil && web != nil {
			running.Go(func() {
				if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
					cancel(fmt.Errorf("%s: %w", key, err))
				}
			})
		}
	}
	if r.beside != nil {
		running.Go(func() { r.beside(ctx) })
	}
	running.Go(func() {
		if err := r.followTerms(ctx); err != nil {
			r.fail(err)
		}
	})
	r.log.WithField("web", r.webAddress()).WithField("clients", r.Addr(ClientAddress).String()).Info("ResourceManager is up")
	select {
	case <-ctx.Done():
	case err := <-r.failed:
		cancel(err)
	}
	err := r.Close()
	running.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// fail makes Run end with an error.
func (r *ResourceManager) fail(err error) {
	select {
	case r.failed <- err:
	default: // there is a reason already
	}
}

// shutdownPatience is how long calls under way may take while the ResourceManager stops.
const shutdownPatience = 3 * time.Second

// Close stops everything.
func (r *ResourceManager) Close() error {
	r.closeOnce.Do(func() { close(r.closing) })
	ctx, cancel := context.WithTimeout(context.Background(), shutdownPatience)
	defer cancel()
	var errs []error
	for _, web := range []*port.Server{r.web, r.proxyWeb} {
		if web == nil {
			continue
		}
		if err := web.Shutdown(ctx); err != nil {
			errs = append(errs, web.Close())
		}
	}
	if r.raft != nil {
		errs = append(errs, r.raft.Close()) // ends the leadership first, so that waiting calls return
	}
	var stopping sync.WaitGroup
	for _, s := range r.servers {
		stopping.Go(func() { _ = s.Shutdown(ctx) })
	}
	stopping.Wait()
	for _, l := range r.listeners {
		_ = l.Close()
	}
	if r.launcher != nil {
		r.launcher.Client.Close()
	}
	if r.timeline != nil {
		r.timeline.Close()
	}
	if r.hdfs != nil {
		errs = append(errs, r.hdfs.Close())
	}
	return errors.Join(append(errs, r.record.Close(), r.audit.Close())...)
}

// followTerms leads whenever this member is elected. It returns when ctx ends, or when this process must not continue.
func (r *ResourceManager) followTerms(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.raft.Failed():
			if err := r.raft.Failure(); errors.Is(err, raft.ErrCommitted) || errors.Is(err, raft.ErrForgotten) || errors.Is(err, raft.ErrForced) || errors.Is(err, raft.ErrReplaced) {
				return fmt.Errorf("%s: %w", r.conf.StateDir("rm", r.id), err)
			}
			return fmt.Errorf("the replicated log in %s can't be written: %w; nothing that was acknowledged is lost: mend the disk, or make room on it, then start this ResourceManager again",
				r.conf.StateDir("rm", r.id), r.raft.Failure())
		case term := <-r.raft.Terms():
			if term.Err() != nil {
				continue
			}
			if err := r.lead(term); err != nil {
				if err := r.abdicate(term, err); err != nil {
					return err
				}
			}
		}
	}
}

// lead leads for one term. Its error says why it stopped leading.
func (r *ResourceManager) lead(term context.Context) error {
	for {
		r.awaitFull(term)
		alone, err := r.leadUntil(term)
		if !alone || term.Err() != nil {
			return err
		}
	}
}

// leadUntil leads until the term ends, or this member is alone and may not lead so (heddle.raft.witness.commit-alone).
func (r *ResourceManager) leadUntil(term context.Context) (alone bool, _ error) {
	if err := r.raft.Barrier(); err != nil {
		return false, fmt.Errorf("elected, and the log can't be applied: %w", err)
	}
	if r.replica.Halted() != nil {
		return false, nil // Run is about to end
	}
	if r.raft.Gap() {
		if err := skipLost(r, r.replica.Clone()); err != nil {
			return false, err
		}
	}
	state := r.replica.Clone()
	chosen := state.Offered == r.id
	if !chosen && r.giveWay(term, state) {
		return false, nil
	}
	r.refreshAll()
	record, queues := r.record.Leads()
	l := leader.New(leader.Config{
		Settings: r.settings, State: state, Propose: r.propose, Launcher: r.launcher, Wall: time.Now, Elapsed: awake.Elapsed(), Past: &r.replica.times,
		Disk: r.disk, NewKey: r.newKey, Versions: r.versions, Rack: r.racks.Rack, Hosts: r.hosts(), Tokens: r.tokenRenewer(), Log: r.log,
		Record: record, RecordedQueues: queues,
		StoredLabels: func() (*ledgerpb.NodeLabelsChanged, error) {
			return stock.Read(r.conf.Text("yarn.node-labels.fs-store.root-dir"))
		},
	})
	var waiting sync.WaitGroup
	defer waiting.Wait()
	ctx, cancel := context.WithCancel(term)
	defer cancel()
	var left atomic.Bool
	waiting.Go(func() { r.watchDisks(ctx, func() { left.Store(true); r.leading.Store(nil); cancel() }) }) // Run may wait for an entry that can't be committed alone
	err := l.Run(ctx, func() {
		if r.leading.Store(l); left.Load() {
			r.leading.Store(nil)
		}
		if !chosen {
			waiting.Go(func() { r.moveHome(ctx, l) })
		}
		if r.settings.Queues.Kind == queue.Fair {
			waiting.Go(func() { r.watchFairFile(ctx, l) })
		}
		if labels := r.settings.Labels; labels.Enabled && labels.By == nodelabels.Delegated {
			waiting.Go(func() { r.delegateLabels(ctx, l) })
		}
		waiting.Go(func() { r.raft.KeepMembers(ctx) })
	})
	r.leading.Store(nil)
	r.log.WithError(err).Info("leadership ended")
	return left.Load(), err
}

// disk returns how much space is left for the log.
func (r *ResourceManager) disk() limit.Disk {
	switch s := r.raft.Space(); {
	case s.Full():
		return limit.DiskFull
	case s.Low():
		return limit.DiskLow
	}
	return limit.DiskFine
}

// Space describes the file system of the log and the snapshots.
func (r *ResourceManager) Space() compact.Space { return r.raft.Space() }

// abdicate makes another member lead if this one can't although its term continues. An error says that no member takes over. Then this
// process has to end: raft would take it for the leader, and the group would elect no other.
func (r *ResourceManager) abdicate(term context.Context, cause error) error {
	notice := time.NewTimer(noticePatience)
	defer notice.Stop()
	select {
	case <-term.Done(): // the usual cause
		return nil
	case <-r.closing:
		return nil
	case <-r.raft.Failed():
		return nil // followTerms reports it
	case <-notice.C:
	}
	r.log.WithError(cause).Error("this member was elected, and can't lead")
	var err error
	if r.HA() && errors.Is(cause, raft.ErrNotLeader) { // else Close hands leadership over
		if err = r.transferWithin(term, homePatience, ""); err == nil {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("this ResourceManager was elected, and can't lead: %w", cause), err)
}

// Addr returns the address that the port of a key listens on.
func (r *ResourceManager) Addr(key string) net.Addr { return r.listeners[key].Addr() }

// Server returns the RPC server of a key's port.
func (r *ResourceManager) Server(key string) *ipc.Server { return r.servers[key] }

// ID returns the ResourceManager's id.
func (r *ResourceManager) ID() string { return r.id }

// HA reports whether there are several ResourceManagers.
func (r *ResourceManager) HA() bool { return r.conf.HAEnabled() }

// Conf returns the configuration.
func (r *ResourceManager) Conf() *conf.Config { return r.conf }

// Log returns where the ResourceManager logs.
func (r *ResourceManager) Log() *logrus.Entry { return r.log }

// Settings returns the leader's settings.
func (r *ResourceManager) Settings() leader.Settings { return r.settings }

// Access decides who may see and change what.
func (r *ResourceManager) Access() *access.Checker { return r.access }

// Login returns the user who runs the ResourceManager.
func (r *ResourceManager) Login() string { return r.login }

// Tokens issues and verifies delegation tokens.
func (r *ResourceManager) Tokens() service.ClientSecrets {
	return service.ClientSecrets{Service: r.launcher.Service}
}

// Door is what callers may do to applications and containers.
func (r *ResourceManager) Door() *door.Door { return r.door }

// View shows what this member knows about the cluster.
func (r *ResourceManager) View() *view.Viewer { return r.view }

// Leader returns the leader if this member leads, else nil.
func (r *ResourceManager) Leader() *leader.Leader { return r.leading.Load() }

// LeaderID returns the id of the member that leads, "" if none is known.
func (r *ResourceManager) LeaderID() string { return r.raft.Leader() }

// Read calls f with the committed ledger, which f must neither change nor keep.
func (r *ResourceManager) Read(f func(*ledger.State)) { r.replica.Read(f) }

// VerifyLeader asks a majority whether this member still leads.
func (r *ResourceManager) VerifyLeader() error { return r.raft.VerifyLeader() }

// Trouble says what an administrator should know about the group (raft.Node).
func (r *ResourceManager) Trouble() (oneDisk bool, say string) { return r.raft.Trouble() }

// Members lists the group, and how each member is. It takes up to a second if one doesn't answer.
func (r *ResourceManager) Members(ctx context.Context) ([]raft.MemberInfo, error) {
	return r.raft.Survey(ctx)
}

package rest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/rm"
	"heddle/rm/access"
	"heddle/rm/door"
	"heddle/rm/feed"
	"heddle/rm/leader"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue"
	"heddle/rm/raft/compact"
	"heddle/rm/recording"
	"heddle/rm/rest/lists"
	"heddle/rm/rest/members"
	"heddle/rm/rest/stream"
	"heddle/rm/rest/visit"
	"heddle/rm/view"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
	"heddle/yarn/rest/daemon"
	"heddle/yarn/rest/logplace"
	"heddle/yarn/rest/metrics2"
)

// Backend is the ResourceManager that the web port shows.
type Backend interface {
	view.Source
	members.Group
	VerifyLeader() error
	HA() bool
	ID() string
	// Space describes the disk of the log.
	Space() compact.Space
}

// Config configures the web port.
type Config struct {
	Backend Backend
	View    *view.Viewer
	Conf    *conf.Config
	Types   records.ResourceTypes
	Access  *access.Checker
	Door    *door.Door // nil: one without an audit log
	Queues  *queue.Live
	// MutableQueues says that queues can be changed at run time.
	MutableQueues bool
	Login         string // the user who runs the ResourceManager
	Host          string // the web port's, as Kerberos knows it
	// MinAllocation and MaxAllocation are the smallest and the largest container.
	MinAllocation, MaxAllocation records.Resource
	MaxPriority                  int32
	// MayActFor decides who may act for others.
	MayActFor func(ctx context.Context, realUser, user string, from netip.Addr) error
	// Tokens issues and verifies delegation tokens; nil: there are none.
	Tokens Tokens
	// Calls are the RPC servers, for /jmx.
	Calls []*daemon.Calls
	// LogDir is the folder with this daemon's logs; "" if it has none.
	LogDir string
	// Feed has the cluster's last events.
	Feed   *feed.Feed
	Record *recording.Recording // nil: there is none
	// Pages are the web pages below /cluster; nil serves plain ones.
	Pages http.Handler
	// Proxy serves the pages of applications, below /proxy; nil serves none.
	Proxy http.Handler
	Logs  Logs // serves containers' logs; nil serves none
	Log   *logrus.Entry
	Now   func() time.Time
}

// server handles the requests of the web port.
//
// It has many methods because each path of the API is one.
type server struct {
	Config
	traffic daemon.Traffic
	java    *daemon.Java
	visits  visit.Visits
	started time.Time
	watched watched
	api     *yarnrest.API
	mux     daemon.Mux
	handler http.Handler
	tickets bool // web users have Kerberos tickets
	proves  bool // web users prove who they are: by tickets, or at a provider
	// readOnly: the queue editor applies nothing.
	readOnly bool
	forget   func(http.Header, *http.Request)
	// heartbeat is the interval of nodes' heartbeats.
	heartbeat    time.Duration
	queueAnswers queueAnswers
	lists        *lists.Lists
	stream       *stream.Stream
}

// Logs serves containers' logs below a path.
type Logs interface {
	Route(api *yarnrest.API, base string, find logplace.Finder)
}

// Mounts are the other handlers of the web port.
type Mounts struct {
	Logs  Logs         // nil serves none
	Pages http.Handler // below /cluster; nil serves plain ones
	Proxy http.Handler // below /proxy; nil serves none
}

// Of returns the handler of a ResourceManager's web port.
func Of(r *rm.ResourceManager, m Mounts) (http.Handler, error) { return New(configOf(r, m)) }

func configOf(r *rm.ResourceManager, m Mounts) Config {
	s := r.Settings()
	logDir, _ := r.Conf().Get("hadoop.log.dir")
	return Config{
		Backend: r, View: r.View(), Conf: r.Conf(), Types: s.Types, Access: r.Access(), Door: r.Door(), Queues: s.Live, MutableQueues: s.QueueSource.Mutable(), Login: r.Login(), Host: r.WebHost(),
		MinAllocation: s.MinAllocation, MaxAllocation: s.MaxAllocation, MaxPriority: s.MaxPriority,
		MayActFor: r.MayActFor, Tokens: r.Tokens(), Calls: calls(r), LogDir: logDir, Feed: r.Feed, Record: r.Recording(), Pages: m.Pages, Proxy: m.Proxy, Logs: m.Logs, Log: r.Log(), Now: time.Now,
	}
}

// calls returns a ResourceManager's RPC servers under the names of YARN's services.
func calls(r *rm.ResourceManager) []*daemon.Calls {
	var all []*daemon.Calls
	for _, s := range []struct{ key, name string }{
		{rm.ClientAddress, "ApplicationClientProtocolService"},
		{rm.MasterAddress, "ApplicationMasterProtocolService"},
		{rm.TrackerAddress, "ResourceTrackerService"},
		{rm.AdminAddress, "ResourceManagerAdministrationProtocolService"},
	} {
		if at, ok := r.Addr(s.key).(*net.TCPAddr); ok {
			all = append(all, &daemon.Calls{Name: s.name, Port: at.Port, Activity: r.Server(s.key).Activity, Methods: r.Server(s.key).Methods})
		}
	}
	return all
}

// New makes the handler of a web port.
func New(cfg Config) (http.Handler, error) {
	s, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	return webPort{s.handler, metrics2.NewSender(cfg.Conf.Dir(), "resourcemanager", s.beans, cfg.Log)}, nil
}

// webPort is the handler of a web port. Its method Run sends the metrics that the port shows to other programs.
type webPort struct {
	http.Handler
	*metrics2.Sender
}

func newServer(cfg Config) (*server, error) {
	if cfg.Door == nil {
		cfg.Door = door.New(door.Config{View: cfg.View, Access: cfg.Access})
	}
	s := &server{
		Config: cfg, started: cfg.Now(), java: daemon.NewJava(cfg.Now()),
		heartbeat: cfg.Conf.Duration("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms"),
	}
	s.lists = &lists.Lists{
		View: cfg.View, Rows: view.NewRows(cfg.View), Access: cfg.Access, Types: cfg.Types, Conf: cfg.Conf, OnlyOwn: cfg.Conf.Bool("yarn.webapp.filter-entity-list-by-user"), Hidden: hidden,
		Container: func(c *view.Container) any { return s.ownContainerInfo(c) },
		Leads: func() error {
			_, err := s.leader()
			return err
		},
	}
	s.visits = visit.Visits{Door: cfg.Door, Admin: cfg.Access.Admin, User: caller, Refusal: refusalReply}
	s.stream = &stream.Stream{Feed: cfg.Feed, Leader: cfg.Backend.LeaderID, Self: cfg.Backend.ID(), MaySee: s.maySee}
	filter, err := s.filter()
	if err != nil {
		return nil, err
	}
	s.tickets, s.proves, s.forget, s.readOnly = filter.Tickets != nil, filter.Proves(), filter.Forget, cfg.Conf.Bool("yarn.webapp.scheduler-ui.read-only.enable")
	s.api = yarnrest.NewAPI(cfg.Log)
	api := s.api
	api.Failed, api.Caller = s.failed, func(r *http.Request) any { return auth.From(r.Context()) }
	api.SetMemory(cfg.Conf.Int("heddle.port.memory-mb") << 20)
	s.routeCluster(api)
	s.routeHeddle(api)
	guards, err := auth.Guards(s.Conf, "resourcemanager", s.Log, s.origins())
	if err != nil {
		return nil, err
	}
	s.handler = s.traffic.Wrap(yarnrest.Headers(s.crossOrigin(guards(s.standby(filter.Wrap(s.pages(api, &s.mux)))))))
	return s, nil
}

// filter identifies callers. Cookies are signed with the cluster's key, so that every member accepts those of the others,
// unless a file has a secret.
func (s *server) filter() (*auth.Filter, error) {
	f, err := auth.FromConf(s.Conf, auth.Daemon{Role: "resourcemanager", Host: s.Host, Log: s.Log})
	if err != nil {
		return nil, err
	}
	f.MayActFor = s.MayActFor
	if s.Tokens != nil {
		f.Delegations = delegations{s.Tokens}
	}
	f.Now = s.Now
	if f.Secrets == nil {
		f.Secrets = s.secrets
	}
	return f, nil
}

func (s *server) secrets() (out [][]byte) {
	s.Backend.Read(func(st *ledger.State) {
		ring := st.Keys[ledgerpb.KeyKind_WEB]
		for _, k := range []ledger.Key{ring.Current, ring.Previous, ring.Next} {
			if k.Secret != nil {
				out = append(out, k.Secret)
			}
		}
	})
	return out
}

// caller returns the user who makes a request.
func caller(c *yarnrest.Call) string { return auth.From(c.Context()).User }

// errStandby redirects the request to the leader.
var errStandby = errors.New("this ResourceManager doesn't lead")

// leader returns the leader, or the error that redirects the request.
func (s *server) leader() (*leader.Leader, error) {
	if l := s.Backend.Leader(); l != nil {
		return l, nil
	}
	return nil, errStandby
}

// failed answers with the leader's refusal, if err is one.
func (s *server) failed(c *yarnrest.Call, err error) (yarnrest.Reply, bool) {
	if errors.Is(err, errStandby) || errors.Is(err, leader.ErrDeposed) {
		return yarnrest.Reply{Serve: s.sendOn}, true
	}
	return yarnrest.Reply{}, false
}

// absent makes sure that notFound is true: a deposed member that doesn't know it may lack what the leader has.
func (s *server) absent(notFound error) error {
	if err := s.Backend.VerifyLeader(); err != nil {
		return errStandby
	}
	return notFound
}

// crossOrigin lets pages of other origins use the API, if that is configured (Hadoop: CrossOriginFilter).
func (s *server) crossOrigin(next http.Handler) http.Handler {
	if !s.Conf.Bool("yarn.resourcemanager.webapp.cross-origin.enabled") {
		return next
	}
	setting := func(key, def string) string {
		if v, ok := s.Conf.Get("hadoop.http.cross-origin." + key); ok {
			return v
		}
		return def
	}
	origins := s.origins()
	methods, headers := setting("allowed-methods", "GET,POST,HEAD"), setting("allowed-headers", "X-Requested-With,Content-Type,Accept,Origin")
	age := setting("max-age", "1800")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && !strings.ContainsAny(origin, "\r\n") && origins(origin) {
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Allow-Credentials", "true")
			h.Set("Access-Control-Allow-Methods", methods)
			h.Set("Access-Control-Allow-Headers", headers)
			h.Set("Access-Control-Max-Age", age)
			h.Add("Vary", "Origin")
		}
		next.ServeHTTP(w, r)
	})
}

// origins returns which origins' pages may use the API; nil means none.
func (s *server) origins() func(string) bool {
	if !s.Conf.Bool("yarn.resourcemanager.webapp.cross-origin.enabled") {
		return nil
	}
	list, ok := s.Conf.Get("hadoop.http.cross-origin.allowed-origins")
	if !ok {
		list = "*"
	}
	patterns := conf.ParseList(list)
	return func(origin string) bool { return originAllowed(patterns, origin) }
}

// originAllowed compares an origin with patterns, in which * stands for any text.
func originAllowed(patterns []string, origin string) bool {
	for _, p := range patterns {
		before, after, wild := strings.Cut(p, "*")
		if p == origin || wild && len(origin) >= len(before)+len(after) && strings.HasPrefix(origin, before) && strings.HasSuffix(origin, after) {
			return true
		}
	}
	return false
}

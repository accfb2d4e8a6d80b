package rest

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/sirupsen/logrus"

	"heddle/internal/machine"
	"heddle/nm/auxservices"
	"heddle/nm/container"
	"heddle/nm/disks"
	"heddle/nm/gpu"
	"heddle/nm/health"
	"heddle/nm/logs"
	hardware "heddle/nm/rest/machine"
	"heddle/yarn/records"
	"heddle/yarn/rest"
	"heddle/yarn/rest/auth"
	"heddle/yarn/rest/daemon"
	"heddle/yarn/rest/metrics2"
)

// Options configure a Server. All must be set unless they say otherwise.
type Options struct {
	Node    records.NodeID
	WebPort int
	Started time.Time
	Types   records.ResourceTypes
	GPUs    *gpu.Pool // nil: containers get none
	// VirtualRatio is yarn.nodemanager.vmem-pmem-ratio.
	VirtualRatio                float64
	Cluster                     string // URL of the cluster's pages; "": none is known
	VirtualCheck, PhysicalCheck bool
	SuspendTimeout              time.Duration // limit for suspending or resuming a container
	Prometheus                  bool          // serve /prom: hadoop.prometheus.endpoint.enabled
	LogDir                      string        // folder that /logs shows: yarn.log.dir
	LogServer, LogServerREST    string        // yarn.log.server.url and …web-service.url; "": none
	Aggregated                  bool          // the log server has the logs of ended applications
	Access                      Access
	Filter                      *auth.Filter
	Guard                       func(http.Handler) http.Handler // refuses requests of foreign pages; nil: allows all
	Configuration               daemon.Configuration
	ConfDir                     string // the configuration folder; "": none
	Containers                  *container.Manager
	ShortTasks                  func() string // what they have of the node, for people; nil: it takes none
	Logs                        logs.Local
	// Uploaded lists a container's logs that this node has aggregated; nil: there are none.
	Uploaded func(ctx context.Context, id records.ContainerID, owner string) ([]logs.NodeLogs, error)
	Aux      *auxservices.Services
	Disks    *disks.Disks
	Health   func() health.Status
	Use      func() machine.Use
	Calls    *daemon.Calls
	Memory   int                  // limit of bytes for bodies of requests, and for answers, each
	Registry *prometheus.Registry // metrics of others; the Server adds its own
	Log      *logrus.Entry
}

// Server answers web requests.
type Server struct {
	Options
	// Metrics sends the figures of /jmx to the sinks of hadoop-metrics2.properties.
	Metrics *metrics2.Sender
	traffic daemon.Traffic
	java    *daemon.Java
	handler http.Handler
	api     *rest.API
	mux     daemon.Mux // handlers outside of the API
	node    daemon.Mux // the pages
	machine *hardware.Service
}

// New returns a server.
func New(o Options) *Server {
	s := &Server{Options: o, java: daemon.NewJava(o.Started), machine: &hardware.Service{Root: "/", Disks: o.Disks.States, Use: o.Use}}
	s.Metrics = metrics2.NewSender(o.ConfDir, "nodemanager", s.beans, s.Log)
	s.Registry.MustRegister(s.collectors()...)
	s.api = s.newAPI()
	api, pages, mux := s.guardLogs(s.api), s.guardLogs(rest.Relative(s.pages())), &s.mux
	mux.Handle("/node/", pages)
	mux.Handle("/node", pages)
	mux.Handle("/jmx", daemon.JMX(s.beans))
	mux.Handle("/conf", daemon.Conf(s.Configuration))
	mux.Handle("/stacks", daemon.Stacks())
	mux.Handle("/logLevel", daemon.LogLevel(s.Log.Logger, s.mayAdminister))
	daemon.Common(mux)
	mux.Handle("/logs/", s.daemonLogs())
	if s.Prometheus {
		mux.Handle("/prom", metrics2.Prometheus(s.beans))
	}
	mux.Handle("/metrics", promhttp.HandlerFor(s.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/", s.root)
	guard := s.Guard
	if guard == nil {
		guard = func(h http.Handler) http.Handler { return h }
	}
	s.handler = s.traffic.Wrap(rest.Headers(guard(toLogServer(s, s.Filter.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/ws/") { // a ServeMux would clean these paths
			api.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))))))
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) root(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" {
		rest.ErrorPage(w, r, http.StatusNotFound, "Not Found")
		return
	}
	w.Header().Set("Content-Type", rest.TextType)
	w.Header().Set("Location", rest.Self(r)+"/node")
	w.WriteHeader(http.StatusFound)
}

func (s *Server) newAPI() *rest.API {
	a := rest.NewAPI(s.Log)
	if s.Memory > 0 {
		a.SetMemory(s.Memory)
	}
	get := func(h rest.Handler) rest.Methods { return rest.Methods{http.MethodGet: {Handle: h}} }
	const node = "/ws/v1/node"
	a.Handle(node, get(s.info))
	a.Handle(node+"/info", get(s.info))
	a.Handle(node+"/apps", get(s.apps))
	a.Handle(node+"/apps/{app}", get(s.app))
	a.Handle(node+"/containers", get(s.containers))
	a.Handle(node+"/containers/{container}", get(s.container))
	a.Handle(node+"/containers/{container}/logs", get(s.logList))
	file := rest.Methods{http.MethodGet: {Handle: s.logFile, Gives: []rest.Format{rest.Text}}}
	a.Handle(node+"/containers/{container}/logs/{file}", file)
	a.Handle(node+"/containerlogs/{container}/{file}", file)
	a.Handle(node+"/auxiliaryservices", rest.Methods{
		http.MethodGet: {Handle: s.auxiliary}, http.MethodPut: {Handle: putAuxiliary(s)},
	})
	a.Handle(node+"/resources/{name}", get(s.resource))
	a.Handle(node+"/yarn/sysfs/{user}/{app}", rest.Methods{http.MethodPut: {Handle: s.sysfs}})

	const heddle = "/ws/v1/heddle"
	a.Handle(heddle+"/containers", get(s.details))
	a.Handle(heddle+"/containers/{container}", get(s.detail))
	s.machine.Route(a)
	a.Handle(heddle+"/containers/{container}/suspend", rest.Methods{http.MethodPut: {Handle: s.suspend}})
	a.Handle(heddle+"/containers/{container}/resume", rest.Methods{http.MethodPut: {Handle: s.resume}})
	return a
}

// guardLogs asks users who want to see logs, and must be known for that, to identify themselves. Hadoop's clients do so
// only after they are asked, or after an OPTIONS request for a path.
func (s *Server) guardLogs(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Access.Enabled && auth.From(r.Context()).User == "" && strings.Contains(r.URL.Path, "/container") && strings.Contains(r.URL.Path, "logs") {
			w.Header().Set("WWW-Authenticate", "PseudoAuth")
			rest.ErrorPage(w, r, http.StatusUnauthorized, "Authentication required")
			return
		}
		next.ServeHTTP(w, r)
	})
}

package past

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/ssl"
	"heddle/hdfsadapter"
	"heddle/hdfsadapter/javafs"
	"heddle/nm/logs"
	"heddle/yarn/records"
	"heddle/yarn/rest"
	"heddle/yarn/rest/logplace"
)

// Bounds of what is done at a time and listed in an answer.
const (
	atOnce  = 16
	ofUser  = 4
	maxList = 1000
	// patience bounds how long a list may take, and the wait for a node.
	patience = 20 * time.Second
)

// Logs serves logs.
type Logs struct {
	adapter  *hdfsadapter.Adapter // nil: broken says why
	broken   error
	secure   bool
	older    bool
	places   []logs.Place
	nodes    *http.Client
	kerberos bool // nodes want tickets of Kerberos
	log      *logrus.Entry
	find     logplace.Finder
	turns    turns
}

// New returns what serves the logs of a configuration. login logs in to Kerberos, where HDFS wants that. A file system that can't be used makes
// requests fail, not the ResourceManager.
func New(c *conf.Config, log *logrus.Entry, login func() (hdfsadapter.Login, error)) *Logs {
	l := &Logs{
		secure:   c.Text("hadoop.security.authentication") == "kerberos",
		older:    c.Bool("yarn.nodemanager.remote-app-log-dir-include-older"),
		kerberos: strings.EqualFold(c.Text("hadoop.http.authentication.type"), "kerberos"), log: log,
	}
	var err error
	if l.adapter, err = hdfsadapter.New(c, hdfsadapter.Options{Log: log, Retry: 5 * time.Second, Login: login, JavaAccount: javafs.Account{
		Login: true, Keytab: "yarn.resourcemanager.keytab", Principal: "yarn.resourcemanager.principal",
	}}); err != nil {
		l.broken = err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if trust, err := ssl.Client(c); err == nil {
		trust.Use(transport)
	} else {
		l.broken = errors.Join(l.broken, err)
	}
	transport.Proxy, transport.ResponseHeaderTimeout, transport.DisableCompression = nil, patience, true
	l.nodes = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	formats := c.Strings("yarn.log-aggregation.file-formats")
	for _, usual := range []string{"TFile", "IFile"} {
		if !slices.Contains(formats, usual) {
			formats = append(formats, usual)
		}
	}
	for _, format := range formats {
		l.places = append(l.places, logs.PlaceOf(format, c.Text))
	}
	return l
}

// Close closes all connections.
func (l *Logs) Close() {
	if l.adapter != nil {
		_ = l.adapter.Close()
	}
}

// Route adds the paths of logs below base.
func (l *Logs) Route(api *rest.API, base string, find logplace.Finder) {
	l.find = find
	api.Handle(base+"/apps/{app}/logs", rest.Methods{http.MethodGet: {Handle: l.ofApp}})
	api.Handle(base+"/containers/{container}/logs", rest.Methods{http.MethodGet: {Handle: l.list}})
	api.Handle(base+"/containers/{container}/logs/{file}", rest.Methods{http.MethodGet: {Handle: l.file, Gives: []rest.Format{rest.Text, rest.JSON}}})
}

// archives are where logs of a user may be. Without Kerberos they are read with the rights of their owner, otherwise with those of the ResourceManager.
func (l *Logs) archives(owner string) (all []logs.Archive) {
	user := owner
	if l.secure {
		user = ""
	}
	remote := logs.OnHDFS(l.adapter).As(user)
	for i, place := range l.places {
		all = append(all, logs.Archive{FS: remote, Place: place, Older: l.older && i == 0})
	}
	return all
}

// stored is a file with aggregated logs.
type stored struct {
	archive logs.Archive
	owner   string
	logs.NodeFile
}

// each calls fn for every log in a file that says that it is the owner's: owners may put others' files, or links to them, into their folders.
func (s *stored) each(ctx context.Context, fn func(logs.AggregatedLog, io.Reader) error) error {
	owner, _, err := s.archive.Rights(ctx, s.NodeFile)
	if err != nil || owner != s.owner {
		return err
	}
	return s.archive.Each(ctx, s.NodeFile, fn)
}

// files lists the files of an application. node restricts them to those of a node, host:port, or to one file by its name; "": all.
func (l *Logs) files(ctx context.Context, app records.ApplicationID, owner, node string) (out []stored, err error) {
	if l.adapter == nil {
		return nil, rest.Retriable("aggregated logs can't be read: %v", l.broken)
	}
	node = strings.ReplaceAll(node, ":", "_")
	for _, a := range l.archives(owner) {
		files, err := a.Files(ctx, app, owner)
		if errors.Is(err, logs.ErrNoLogs) {
			continue
		}
		if err != nil {
			return nil, l.unreadable(app, err)
		}
		for _, f := range files {
			if node == "" || f.Name == node || strings.HasPrefix(f.Name, node+"_") {
				out = append(out, stored{a, owner, f})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b stored) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// unreadable says in a client's words why logs can't be read. The log has the rest.
func (l *Logs) unreadable(app records.ApplicationID, err error) error {
	l.log.WithError(err).WithField("application", app).Warn("reading aggregated logs failed")
	switch {
	case errors.Is(err, fs.ErrPermission):
		return rest.Forbidden("the ResourceManager's account may not read the aggregated logs of %v: it must be in the group of yarn.nodemanager.remote-app-log-dir", app)
	case errors.Is(err, context.DeadlineExceeded):
		return rest.Retriable("reading the logs of %v took more than %v; name the node with ?node=host:port", app, patience)
	}
	return rest.Retriable("the aggregated logs of %v can't be read now: %v", app, err)
}

// viewable finds who owns an application, if the caller may see it. found is the error of the ResourceManager.
func (l *Logs) viewable(c *rest.Call, app records.ApplicationID, p logplace.Place, found error) (logplace.Place, error) {
	if !errors.Is(found, logplace.ErrForgotten) {
		return p, found
	}
	p.Owner, p.Ended = c.Query().Get("owner"), true
	if p.Owner == "" {
		return p, rest.NotFound("%v: %v; name its owner with ?owner=", app, logplace.ErrForgotten)
	}
	if p.Owner == "." || p.Owner == ".." || strings.ContainsAny(p.Owner, "/\x00") || len(p.Owner) > 256 {
		return p, rest.BadRequest("owner must be a user's name and not %.40q", p.Owner)
	}
	absent := rest.NotFound("%v: %v, and user %s has no aggregated logs of it that you may see", app,
		logplace.ErrForgotten, p.Owner)
	files, err := l.files(c.Context(), app, p.Owner, "")
	if err != nil || len(files) == 0 {
		return p, cmp.Or(err, absent)
	}
	_, viewers, err := files[0].archive.Rights(c.Context(), files[0].NodeFile)
	if err != nil || !l.find.MayView(c, p.Owner, viewers) {
		return p, absent
	}
	return p, nil
}

// entry is a log, or all logs that lie in a place.
type entry struct {
	Name    string `yarn:"fileName"`
	Size    int64  `yarn:"fileSize"`
	ModTime string `yarn:"lastModifiedTime"`
	Time    int64  `yarn:"time"` // the same, in ms since 1970; 0: not known
}

func entryOf(name string, size, modTime int64) entry {
	return entry{name, size, logs.FormatTime(modTime), modTime}
}

// containerLogs are logs of a container in one place, in YARN's form.
type containerLogs struct {
	Files       []entry `yarn:"containerLogInfo"`
	Aggregation string  `yarn:"logAggregationType"` // LOCAL or AGGREGATED
	Container   string  `yarn:"containerId"`
	Node        string  `yarn:"nodeId"` // host:port, or the aggregated file
}

type appLogs struct {
	App   string          `yarn:"applicationId"`
	Owner string          `yarn:"user"`
	Node  []entry         `yarn:"nodeFile,omitempty"`          // files of nodes
	Logs  []containerLogs `yarn:"containerLogsInfo,omitempty"` // in the file that node= names
	More  bool            `yarn:"more"`                        // there are more than an answer lists
}

// ofApp lists the nodes' files of an application, or the containers' logs in one of them.
func (l *Logs) ofApp(c *rest.Call) (rest.Reply, error) {
	id, err := records.ParseApplicationID(c.Var("app"))
	if err != nil {
		return rest.Reply{}, rest.BadRequest("%v", err)
	}
	p, err := l.find.App(c, id)
	if p, err = l.viewable(c, id, p, err); err != nil {
		return rest.Reply{}, err
	}
	leave, err := l.turns.enter(c.Context(), p.User)
	if err != nil {
		return rest.Reply{}, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	node := c.Query().Get("node")
	files, err := l.files(ctx, id, p.Owner, node)
	if err != nil {
		return rest.Reply{}, err
	}
	out := appLogs{App: id.String(), Owner: p.Owner}
	if node == "" {
		for _, f := range files[:min(len(files), maxList)] {
			out.Node = append(out.Node, entryOf(f.Name, f.Size, f.ModTime))
		}
		out.More = len(files) > maxList
		return rest.OK("logs", rest.Natural, out), nil
	}
	out.Logs, out.More, err = l.within(ctx, files, func(string) bool { return true })
	if err != nil {
		return rest.Reply{}, l.unreadable(id, err)
	}
	return rest.OK("logs", rest.Natural, out), nil
}

// within lists the logs of containers in files, up to maxList.
func (l *Logs) within(ctx context.Context, files []stored, wanted func(container string) bool) (out []containerLogs, more bool, err error) {
	errEnough := errors.New("enough")
	n := 0
	for _, f := range files {
		err := f.each(ctx, func(log logs.AggregatedLog, _ io.Reader) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !wanted(log.Container) {
				return nil
			}
			if n++; n > maxList {
				return errEnough
			}
			last := len(out) - 1
			if last < 0 || out[last].Container != log.Container || out[last].Node != f.Name {
				out, last = append(out, containerLogs{Aggregation: "AGGREGATED", Container: log.Container, Node: f.Name}), last+1
			}
			out[last].Files = append(out[last].Files, entryOf(log.Name, log.Length, f.ModTime))
			return nil
		})
		if errors.Is(err, errEnough) {
			return out, true, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return out, false, nil
}

package rest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"heddle/nm/container"
	"heddle/nm/logs"
	"heddle/nm/logs/part"
	"heddle/yarn/records"
	"heddle/yarn/rest"
	"heddle/yarn/rest/daemon"
)

func parseContainer(text string) (records.ContainerID, error) {
	id, err := records.ParseContainerID(text)
	if err != nil {
		return id, rest.BadRequest("invalid container id, %s", text)
	}
	return id, nil
}

func conflict(err error) error {
	return &rest.Error{Status: http.StatusConflict, Class: rest.YarnException, Message: err.Error()}
}

// denied returns the refusal to show logs, in Hadoop's words.
func denied(r *http.Request, app records.ApplicationID) *rest.Error {
	return &rest.Error{
		Status: http.StatusForbidden, Class: rest.YarnException,
		Message: "User [" + caller(r) + "] is not authorized to view the logs for application " + app.String(),
	}
}

// unknownContainer is Hadoop's message for a container whose application is not here.
const unknownContainer = "Unknown container. Container either has not started or has already completed or doesn't belong to this node at all."

// access checks that the user may see a container's logs, and that there may be any.
func (s *Server) access(r *http.Request, id records.ContainerID) (owner string, running bool, err error) {
	app, ok := s.Containers.Application(id.Attempt.App)
	if !ok {
		return "", false, rest.NotFound(unknownContainer)
	}
	if !s.mayView(r, app) {
		return "", false, denied(r, id.Attempt.App)
	}
	at, err := s.Containers.Container(id)
	if err != nil {
		return app.User, false, nil // it has ended, and its logs stay until the application ends
	}
	switch state := at.State(); state {
	case container.New, container.Localizing:
		return "", false, rest.NotFound("Container is not yet running. Current state is %s", state)
	case container.LocalizationFailed:
		return "", false, rest.NotFound("Container wasn't started. Localization failed.")
	case container.Done:
		return app.User, false, nil
	}
	return app.User, true, nil
}

type logFile struct {
	Name    string `yarn:"fileName"`
	Size    string `yarn:"fileSize"`
	ModTime string `yarn:"lastModifiedTime"`
}

type logsInfo struct {
	Files       []logFile `yarn:"containerLogInfo"`
	Aggregation string    `yarn:"logAggregationType"`
	Container   string    `yarn:"containerId"`
	Node        string    `yarn:"nodeId"`
}

// logsInfos is the list in XML.
type logsInfos struct {
	Infos []logsInfo `yarn:"containerLogsInfo"`
}

func (s *Server) logList(c *rest.Call) (rest.Reply, error) {
	id, err := parseContainer(c.Var("container"))
	if err != nil {
		return rest.Reply{}, err
	}
	owner, _, err := s.access(c.Request, id)
	if err != nil {
		return s.orElsewhere(c.Request, err, "/containers/"+id.String()+"/logs")
	}
	files, err := s.Logs.List(id)
	if err != nil {
		return rest.Reply{}, err
	}
	info := logsInfo{Aggregation: "LOCAL", Container: id.String(), Node: s.Node.String()}
	for _, f := range files {
		info.Files = append(info.Files, logFile{f.Name, strconv.FormatInt(f.Size, 10), logs.FormatTime(f.ModTime)})
	}
	infos := append([]logsInfo{info}, s.uploads(c.Request.Context(), id, owner)...)
	switch {
	case c.Format == rest.XML:
		return rest.OK("containerLogsInfoes", rest.Natural, logsInfos{infos}), nil
	case len(infos) > 1: // as Jersey does
		return rest.OK("", rest.Unwrapped, logsInfos{infos}), nil
	}
	return rest.OK("containerLogsInfo", rest.Natural, info), nil
}

// uploadPatience bounds the wait for the file system with aggregated logs.
const uploadPatience = 5 * time.Second

// uploads lists the aggregated logs, one entry for each file. As in Hadoop it omits logs that can't be read.
func (s *Server) uploads(ctx context.Context, id records.ContainerID, owner string) (infos []logsInfo) {
	if s.Uploaded == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, uploadPatience)
	defer cancel()
	files, err := s.Uploaded(ctx, id, owner)
	if err != nil {
		s.Log.WithError(err).WithField("container", id).Warn("can't list aggregated logs")
		return nil
	}
	for _, f := range files {
		info := logsInfo{Aggregation: "AGGREGATED", Container: id.String(), Node: f.File.Name}
		for _, l := range f.Logs {
			info.Files = append(info.Files, logFile{l.Name, strconv.FormatInt(l.Length, 10), logs.FormatTime(f.File.ModTime)})
		}
		infos = append(infos, info)
	}
	return infos
}

// orElsewhere redirects clients to the log server, if there is one, for logs that aren't here.
func (s *Server) orElsewhere(r *http.Request, err error, path string) (rest.Reply, error) {
	var e *rest.Error
	if !errors.As(err, &e) || e.Status != http.StatusNotFound || s.LogServerREST == "" {
		return rest.Reply{}, err
	}
	to := strings.TrimRight(s.LogServerREST, "/") + path
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	return rest.Reply{Status: http.StatusTemporaryRedirect, Location: to}, nil
}

// plain returns an error as text, the only format of logs.
func plain(reply rest.Reply, err error) (rest.Reply, error) {
	var e *rest.Error
	if errors.As(err, &e) {
		return rest.Say(e.Status, "%s", e.Message), nil
	}
	return reply, err
}

func (s *Server) logFile(c *rest.Call) (rest.Reply, error) {
	id, err := parseContainer(c.Var("container"))
	if err != nil {
		return plain(rest.Reply{}, err)
	}
	name := c.Var("file")
	owner, running, err := s.access(c.Request, id)
	if err != nil {
		return plain(s.orElsewhere(c.Request, err, "/containers/"+id.String()+"/logs/"+url.PathEscape(name)))
	}
	log, err := s.Logs.Open(id, owner, name)
	if err != nil {
		if errors.Is(err, logs.ErrNotFound) {
			err = rest.NotFound("%s", err)
			return plain(s.orElsewhere(c.Request, err, "/containers/"+id.String()+"/logs/"+url.PathEscape(name)))
		}
		return rest.Say(http.StatusForbidden, "%s", err), nil
	}
	want, parts, err := part.Parse(c.Query())
	if err != nil {
		log.Close()
		return plain(rest.Reply{}, err)
	}
	if parts {
		return rest.Reply{Serve: func(w http.ResponseWriter, r *http.Request) { servePart(w, r, want, log, running) }}, nil
	}
	kind := rest.TextType
	switch format := c.Query().Get("format"); strings.ToLower(format) {
	case "", "text":
	case "octet-stream":
		kind = "application/octet-stream; charset=utf-8"
	default:
		log.Close()
		return rest.Say(http.StatusBadRequest, "The valid values for the parameter : format are [text, octet-stream]"), nil
	}
	size := log.Entry.Size
	if text := c.Query().Get("size"); text != "" {
		if size, err = strconv.ParseInt(text, 10, 64); err != nil {
			log.Close()
			return rest.Say(http.StatusBadRequest, "size must be a number of bytes, from the end if it is negative, and not %q", text), nil
		}
	}
	return rest.Reply{Serve: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		s.serveLog(w, log, size, running)
	}}, nil
}

// servePart writes a part of a log, and closes it.
func servePart(w http.ResponseWriter, r *http.Request, want part.Wanted, log *logs.Log, running bool) {
	defer log.Close()
	size := log.Entry.Size
	if err := part.Serve(w, r, want, part.Log{Name: log.Name, Length: size, Growing: running, Content: log.Section(0, size)}); err != nil {
		var e *rest.Error
		status := http.StatusInternalServerError
		if errors.As(err, &e) {
			status = e.Status
		}
		http.Error(w, err.Error(), status)
	}
}

// serveLog writes a log, and closes it. The answer is aborted if the log becomes shorter meanwhile.
func (s *Server) serveLog(w http.ResponseWriter, log *logs.Log, size int64, running bool) {
	defer log.Close()
	daemon.Quarantine(w.Header())
	if err := log.WriteText(w, s.Node, size, running); err != nil {
		rest.Abort(w)
	}
}

// daemonLogs serves the NodeManager's own log folder. Containers' logs are usually below it; those are shown only by
// paths that check the user.
func (s *Server) daemonLogs() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.mayAdminister(r); err != nil {
			rest.ErrorPage(w, r, http.StatusForbidden, err.Error())
			return
		}
		path := filepath.Join(s.LogDir, filepath.FromSlash(strings.TrimPrefix(r.URL.Path, "/logs")))
		for _, dir := range s.Logs.Dirs.Readable() {
			if (s.Access.Enabled || s.Logs.UID != nil) && (path == dir || strings.HasPrefix(path, dir+string(filepath.Separator))) {
				rest.ErrorPage(w, r, http.StatusForbidden, "logs of containers are at /ws/v1/node/containers/ID/logs")
				return
			}
		}
		daemon.ServeLogs(w, r, s.LogDir)
	})
}

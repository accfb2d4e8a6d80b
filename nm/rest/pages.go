package rest

import (
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"heddle/nm/container"
	"heddle/nm/logs"
	"heddle/yarn/records"
	"heddle/yarn/rest"
)

// pages serves pages for people. Their paths are those of a Hadoop NodeManager, because other programs link to them.
func (s *Server) pages() http.Handler {
	mux := &s.node
	node := func(w http.ResponseWriter, _ *http.Request) { s.nodePage(w) }
	mux.HandleFunc("GET /node", node)
	mux.HandleFunc("GET /node/{$}", node)
	mux.HandleFunc("GET /node/node", node)
	mux.HandleFunc("GET /node/allApplications", s.appsPage)
	mux.HandleFunc("GET /node/allContainers", s.containersPage)
	mux.HandleFunc("GET /node/application/{app}", s.appPage)
	mux.HandleFunc("GET /node/container/{container}", s.containerPage)
	mux.HandleFunc("GET /node/containerlogs/{container}/{user}", s.logsPage)
	mux.HandleFunc("GET /node/containerlogs/{container}/{user}/{file}", s.logsPage)
	mux.HandleFunc("/", rest.NoSuchPage)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := strings.TrimRight(r.URL.Path, "/"); p != r.URL.Path && p != "" {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = p, strings.TrimRight(r.URL.RawPath, "/")
		}
		mux.ServeHTTP(w, r)
	})
}

// body builds HTML from texts, which it escapes, and links.
type body struct{ strings.Builder }

func (b *body) row(cells ...string) {
	b.WriteString("<tr>")
	for _, c := range cells {
		b.WriteString("<td>" + c + "</td>")
	}
	b.WriteString("</tr>\n")
}

func (b *body) heads(names ...string) {
	b.WriteString("<table border=\"1\" cellpadding=\"4\" style=\"border-collapse:collapse\">\n<tr>")
	for _, n := range names {
		b.WriteString("<th>" + esc(n) + "</th>")
	}
	b.WriteString("</tr>\n")
}

func (b *body) end() { b.WriteString("</table>\n") }

func esc(v any) string { return html.EscapeString(fmt.Sprint(v)) }

func link(to, text string) string {
	return `<a href="` + html.EscapeString(to) + `">` + esc(text) + `</a>`
}

const menu = `<p><a href="/node">node</a> | <a href="/node/allApplications">applications</a> | <a href="/node/allContainers">containers</a>` +
	` | <a href="/ws/v1/node/info">REST</a> | <a href="/conf">configuration</a> | <a href="/jmx?qry=Hadoop:*">metrics</a> | <a href="/stacks">stacks</a></p>` + "\n"

// frameBegin and frameEnd are around the content of a page, as in Hadoop's: programs such as Hue read the second cell of the
// body's table, or the cell of the class content.
const (
	frameBegin = `<table id="layout" class="ui-widget-content"><tbody><tr style="vertical-align:top"><td id="navcell">` + menu + `</td><td class="content">` + "\n"
	frameEnd   = "</td></tr></tbody></table>\n"
)

func show(w http.ResponseWriter, title string, b *body) {
	rest.Page(w, http.StatusOK, title, frameBegin+b.String()+frameEnd)
}

func (s *Server) nodePage(w http.ResponseWriter) {
	var b body
	i, c := s.nodeInfo(), s.Containers.Counts()
	b.heads("", "")
	b.row("Node", esc(i.ID))
	b.row("Healthy", esc(i.Healthy))
	b.row("Health report", esc(i.HealthReport))
	b.row("Memory for containers", esc(fmt.Sprintf("%d MB, of which %d MB are allocated", i.PhysicalMB, c.Allocated.MemoryMB())))
	b.row("Virtual cores for containers", esc(fmt.Sprintf("%d, of which %d are allocated", i.VCores, c.Allocated.VCores())))
	if s.ShortTasks != nil {
		b.row("Lent to short tasks", esc(s.ShortTasks()))
	}
	b.row("Resource types", esc(i.Types))
	b.row("Containers", esc(fmt.Sprintf("%d running, %d suspended, %d waiting or being localized", c.Running, c.Suspended, c.Waiting+c.Localizing)))
	b.row("Physical memory is enforced", esc(i.PhysicalCheck))
	b.row("Virtual memory is enforced", esc(i.VirtualCheck))
	b.row("Started", esc(stamp(s.Started)))
	b.row("Version", esc(i.BuildVersion+", as Hadoop "+i.HadoopVersion))
	b.end()
	show(w, "NodeManager information", &b)
}

func (s *Server) appsPage(w http.ResponseWriter, _ *http.Request) {
	var b body
	b.heads("Application", "State", "User", "Containers")
	for _, a := range s.Containers.Applications() {
		b.row(link("/node/application/"+a.ID.String(), a.ID.String()), esc(a.State), esc(a.User), esc(len(a.Containers)))
	}
	b.end()
	show(w, "Applications running on this node", &b)
}

func (s *Server) writeContainers(b *body, keep func(container.Status) bool) {
	b.heads("Container", "State", "User", "Memory", "Virtual cores", "Exit code", "Logs")
	for _, c := range s.Containers.Containers() {
		st := c.Status()
		if !keep(st) {
			continue
		}
		id := st.Grant.ID.String()
		b.row(link("/node/container/"+id, id), esc(st.State), esc(st.Grant.User), esc(fmt.Sprintf("%d MB", st.Grant.Resource.MemoryMB())),
			esc(st.Grant.Resource.VCores()), exitText(st), link(logsPath(st.Grant.ID, st.Grant.User), "logs"))
	}
	b.end()
}

func exitText(st container.Status) string {
	if st.State != container.Done {
		return ""
	}
	return esc(st.ExitCode)
}

func logsPath(id records.ContainerID, user string) string {
	return "/node/containerlogs/" + id.String() + "/" + url.PathEscape(user)
}

func (s *Server) containersPage(w http.ResponseWriter, _ *http.Request) {
	var b body
	s.writeContainers(&b, func(container.Status) bool { return true })
	show(w, "All containers running on this node", &b)
}

// failed shows a failure of the API as a page.
func failed(w http.ResponseWriter, err error) {
	status, text := http.StatusInternalServerError, err.Error()
	var e *rest.Error
	if errors.As(err, &e) {
		status, text = e.Status, strings.TrimPrefix(e.Message, "java.lang.Exception: ")
	}
	rest.Page(w, status, http.StatusText(status), "<p>"+esc(text)+"</p>")
}

func (s *Server) appPage(w http.ResponseWriter, r *http.Request) {
	id, err := parseApp(r.PathValue("app"))
	if err != nil {
		failed(w, err)
		return
	}
	app, ok := s.Containers.Application(id)
	if !ok {
		failed(w, rest.NotFound("app with id %s not found", id))
		return
	}
	var b body
	fmt.Fprintf(&b, "<p>%s of %s: %s</p>\n", esc(id), esc(app.User), esc(app.State))
	s.writeContainers(&b, func(st container.Status) bool { return st.Grant.ID.Attempt.App == id })
	show(w, "Application information", &b)
}

func (s *Server) containerPage(w http.ResponseWriter, r *http.Request) {
	id, err := parseContainer(r.PathValue("container"))
	if err != nil {
		failed(w, err)
		return
	}
	c, err := s.Containers.Container(id)
	if err != nil {
		failed(w, rest.NotFound("container with id, %s, not found", id))
		return
	}
	st := c.Status()
	var b body
	b.heads("", "")
	b.row("State", esc(st.State))
	b.row("Exit code", exitText(st))
	if app, here := s.Containers.Application(id.Attempt.App); s.mayDiagnose(r, app, here) {
		b.row("Diagnostics", "<pre>"+esc(st.Diagnostics)+"</pre>")
	}
	b.row("User", esc(st.Grant.User))
	b.row("Memory", esc(fmt.Sprintf("%d MB", st.Grant.Resource.MemoryMB())))
	b.row("Virtual cores", esc(st.Grant.Resource.VCores()))
	b.row("In use", esc(fmt.Sprintf("%d MB, %.2f cores", st.Usage.Physical>>20, st.Usage.CPU)))
	b.row("Accepted", esc(stamp(st.Started)))
	b.row("Launched", esc(stamp(st.Launched)))
	b.row("Finished", esc(stamp(st.Finished)))
	b.row("Logs", link(logsPath(id, st.Grant.User), "logs"))
	b.end()
	show(w, "Container "+id.String(), &b)
}

// toLogServer redirects requests for logs that have left the node to the log server, before the caller is asked for a name: the log
// server asks, and a redirect shows nothing (Hadoop: NMWebAppFilter).
func toLogServer(s *Server, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, left := logServerPage(s, r)
		if !left {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", rest.TextType)
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
		_, _ = io.WriteString(w, "Redirecting to log server : "+to+"\n")
	})
}

// logServerPage returns the log server's page for a container whose application the node doesn't have any more.
func logServerPage(s *Server, r *http.Request) (to string, left bool) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/node/containerlogs/")
	parts := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	if !ok || !s.Aggregated || s.LogServer == "" || len(parts) < 2 || len(parts) > 3 {
		return "", false
	}
	id, err := parseContainer(parts[0])
	if err != nil {
		return "", false
	}
	if _, here := s.Containers.Application(id.Attempt.App); here {
		return "", false
	}
	return strings.TrimRight(s.LogServer, "/") + "/" + s.Node.String() + "/" + id.String() + "/" + strings.Join(append([]string{id.String()}, parts[1:]...), "/"), true
}

// logsPage lists the logs of a container, or shows a part of one, from ?start= to ?end=.
func (s *Server) logsPage(w http.ResponseWriter, r *http.Request) {
	id, err := parseContainer(r.PathValue("container"))
	if err != nil {
		failed(w, err)
		return
	}
	user, name := r.PathValue("user"), r.PathValue("file")
	owner, _, err := s.access(r, id)
	if err == nil && name == "" {
		err = s.listPage(w, id, user)
	} else if err == nil {
		err = s.filePage(w, r, id, owner, name)
	}
	if err != nil {
		failed(w, err)
	}
}

func (s *Server) listPage(w http.ResponseWriter, id records.ContainerID, user string) error {
	files, err := s.Logs.List(id)
	if err != nil {
		return err
	}
	var b body
	if len(files) == 0 {
		b.WriteString("<p>No logs yet.</p>\n")
	}
	for _, f := range files {
		fmt.Fprintf(&b, "<p>%s</p>\n", link(fmt.Sprintf("%s/%s/?start=%d", logsPath(id, user), url.PathEscape(f.Name), logs.DefaultStart),
			fmt.Sprintf("%s : Total file length is %d bytes.", f.Name, f.Size)))
	}
	show(w, "Logs for "+id.String(), &b)
	return nil
}

func (s *Server) filePage(w http.ResponseWriter, r *http.Request, id records.ContainerID, owner, name string) error {
	log, err := s.Logs.Open(id, owner, name)
	if err != nil {
		if errors.Is(err, logs.ErrNotFound) {
			return rest.NotFound("%s", err)
		}
		return rest.Forbidden("%s", err)
	}
	defer log.Close()
	q := r.URL.Query()
	number := func(key string, or int64) (int64, error) {
		text := q.Get(key)
		if text == "" {
			return or, nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, rest.BadRequest("%s must be a number of bytes and not %q", key, text)
		}
		return n, nil
	}
	size := log.Entry.Size
	start, err := number("start", logs.DefaultStart)
	if err != nil {
		return err
	}
	end, err := number("end", size)
	if err != nil {
		return err
	}
	offset, count, err := logs.Window(size, start, end)
	if err != nil {
		return rest.BadRequest("%s", err)
	}
	w.Header().Set("Content-Type", rest.HTMLType)
	title := "Logs for " + id.String()
	head := fmt.Sprintf("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>%s</title></head>\n<body><h1>%[1]s</h1>\n%s", esc(title), frameBegin)
	if count < size {
		head += fmt.Sprintf("<p>Showing %d bytes of %d total. %s for the full log.</p>\n", count, size, link("?start=0", "Click here"))
	}
	if _, err := io.WriteString(w, head+"<pre>"); err != nil {
		return nil // the client is gone
	}
	if n, err := io.Copy(escaper{w}, log.Section(offset, count)); err != nil || n < count {
		rest.Abort(w) // its owner has made the log shorter
	}
	_, _ = io.WriteString(w, "</pre>\n"+frameEnd+"</body></html>\n")
	return nil
}

// escaper writes text into HTML.
type escaper struct{ w io.Writer }

var htmlText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func (e escaper) Write(p []byte) (int, error) {
	if _, err := htmlText.WriteString(e.w, string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

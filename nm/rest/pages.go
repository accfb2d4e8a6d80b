package rest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"heddle/nm/container"
	"heddle/nm/logs"
	"heddle/nm/rest/look"
	"heddle/yarn/records"
	"heddle/yarn/rest"
)

// webPages are the pages of a Server.
type webPages struct{ *Server }

// pages serves pages for people. Their paths are those of a Hadoop NodeManager, because other programs link to them.
func (s *Server) pages() http.Handler {
	mux, p := &s.node, webPages{s}
	node := func(w http.ResponseWriter, _ *http.Request) { p.nodePage(w) }
	mux.HandleFunc("GET /node", node)
	mux.HandleFunc("GET /node/{$}", node)
	mux.HandleFunc("GET /node/node", node)
	mux.HandleFunc("GET "+look.Path, look.Stylesheet)
	mux.HandleFunc("GET /node/allApplications", p.appsPage)
	mux.HandleFunc("GET /node/allContainers", p.containersPage)
	mux.HandleFunc("GET /node/application/{app}", p.appPage)
	mux.HandleFunc("GET /node/container/{container}", p.containerPage)
	mux.HandleFunc("GET /node/containerlogs/{container}/{user}", p.logsPage)
	mux.HandleFunc("GET /node/containerlogs/{container}/{user}/{file}", p.logsPage)
	mux.HandleFunc("/", rest.NoSuchPage)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path := strings.TrimRight(r.URL.Path, "/"); path != r.URL.Path && path != "" {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = path, strings.TrimRight(r.URL.RawPath, "/")
		}
		mux.ServeHTTP(w, r)
	})
}

func esc(v any) string { return look.Text(v) }

func link(to, text string) string { return look.Link(to, text) }

func (s webPages) frame() *look.Frame { return &look.Frame{Node: s.Node.String(), Cluster: s.Cluster} }

func (s webPages) show(w http.ResponseWriter, title string, b *look.Body) {
	s.frame().Page(w, http.StatusOK, title, b)
}

func (s webPages) nodePage(w http.ResponseWriter) {
	var b look.Body
	i, c, u := s.nodeInfo(), s.Containers.Counts(), s.Use()
	state := look.Badge("RUNNING")
	if !i.Healthy {
		state = look.Badge("UNHEALTHY")
	}
	lent := ""
	if s.ShortTasks != nil {
		lent = esc(s.ShortTasks())
	}
	part := func(used, all int64, unit string) string {
		return look.Meter(100*float64(used)/float64(max(all, 1))) + esc(fmt.Sprintf("  %d of %d%s", used, all, unit))
	}
	var enforced []string
	if i.PhysicalCheck {
		enforced = append(enforced, "physical memory")
	}
	if i.VirtualCheck {
		enforced = append(enforced, "virtual memory")
	}
	at := ""
	if s.Cluster != "" {
		at = link(s.Cluster+"/cluster/node/"+url.PathEscape(i.ID), "on the cluster's pages")
	}
	b.Facts(
		[2]string{"Node", esc(i.ID)}, [2]string{"State", state}, [2]string{"Health report", esc(i.HealthReport)},
		[2]string{"Memory for containers", part(c.Allocated.MemoryMB(), i.PhysicalMB, " MB")},
		[2]string{"Virtual cores for containers", part(c.Allocated.VCores(), i.VCores, "")},
		[2]string{"Containers", esc(fmt.Sprintf("%d running, %d suspended, %d waiting or being localized", c.Running, c.Suspended, c.Waiting+c.Localizing))},
		[2]string{"Lent to short tasks", lent}, [2]string{"Resource types", esc(i.Types)},
		[2]string{"Limits are enforced of", esc(strings.Join(enforced, ", "))},
		[2]string{"Started", esc(stamp(s.Started))}, [2]string{
			"Version",
			esc(i.BuildVersion + ", as Hadoop " + i.HadoopVersion),
		}, [2]string{"History and actions", at},
	)
	b.Heading("Machine")
	cpu := "not measured yet"
	if u.CPU >= 0 {
		cpu = look.Meter(100*u.CPU/float64(max(u.Processors, 1))) + esc(fmt.Sprintf("  %.1f of %d processors, load %.2f", u.CPU, u.Processors, u.Load))
	}
	swap := "the machine has none"
	if u.TotalSwap > 0 {
		swap = part(u.Swap>>20, u.TotalSwap>>20, " MB")
	}
	b.Facts([2]string{"CPU in use", cpu}, [2]string{"Memory in use", part(u.Memory>>20, u.TotalMemory>>20, " MB")},
		[2]string{"Swap in use", swap})
	s.machineParts(&b)
	b.Heading("Containers")
	s.writeContainers(&b, func(container.Status) bool { return true })
	s.show(w, "NodeManager information", &b)
}

// machineParts writes the pressure and the disks of the machine.
func (s webPages) machineParts(b *look.Body) {
	m, err := s.machine.Look()
	if err != nil {
		b.WriteString(`<p class="notice">` + esc(err) + "</p>\n")
		return
	}
	percent := func(p float64) string { return fmt.Sprintf("%.1f %%", p) }
	var rows [][]string
	for _, p := range m.Pressure {
		rows = append(rows, []string{esc(p.Resource), look.Meter(p.Some10), percent(p.Some60), percent(p.Some300), percent(p.Full10), percent(p.Full60), percent(p.Full300)})
	}
	b.Heading("Pressure: time in which processes waited")
	b.Table("Pressure", []look.Column{{Head: "Waiting for"}, {Head: "Some, 10 s", Kind: "num"}, {Head: "1 min", Kind: "num"}, {Head: "5 min", Kind: "num"}, {Head: "All, 10 s", Kind: "num"}, {Head: "1 min", Kind: "num"}, {Head: "5 min", Kind: "num"}}, rows,
		"The kernel of this machine doesn't tell its pressure (CONFIG_PSI).")
	rows = nil
	for _, d := range m.Disks {
		used, free := "—", "—"
		if d.Total > 0 {
			used, free = look.Meter(100*float64(d.Total-d.Free)/float64(d.Total)), fmt.Sprintf("%d of %d MB", d.Free>>20,
				d.Total>>20)
		}
		rows = append(rows, []string{esc(d.Path), esc(d.Kind), look.Badge(d.State), used, free, esc(d.Problem)})
	}
	b.Heading("Disks")
	b.Table("Disks", []look.Column{{Head: "Folder", Kind: "wide"}, {Head: "For"}, {Head: "State"}, {Head: "Used", Kind: "num"}, {Head: "Free", Kind: "num"}, {Head: "Problem", Kind: "wide"}}, rows, "No folder is configured.")
}

func (s webPages) appsPage(w http.ResponseWriter, _ *http.Request) {
	var b look.Body
	var rows [][]string
	for _, a := range s.Containers.Applications() {
		rows = append(rows, []string{link("/node/application/"+a.ID.String(), a.ID.String()), look.Badge(a.State.String()), esc(a.User), esc(len(a.Containers))})
	}
	b.Table("Applications", []look.Column{{Head: "Application"}, {Head: "State"}, {Head: "User"}, {Head: "Containers", Kind: "num"}}, rows, "No application has a container on this node.")
	s.show(w, "Applications running on this node", &b)
}

func (s webPages) writeContainers(b *look.Body, keep func(container.Status) bool) {
	var rows [][]string
	for _, c := range s.Containers.Containers() {
		st := c.Status()
		if !keep(st) {
			continue
		}
		id := st.Grant.ID.String()
		rows = append(rows, []string{
			link("/node/container/"+id, id), look.Badge(stateOf(&st)), esc(st.Grant.User),
			esc(fmt.Sprintf("%d MB", st.Grant.Resource.MemoryMB())),
			esc(st.Grant.Resource.VCores()), exitText(st), link(logsPath(st.Grant.ID, st.Grant.User), "logs"),
		})
	}
	b.Table("Containers", []look.Column{{Head: "Container"}, {Head: "State"}, {Head: "User"}, {Head: "Memory", Kind: "num"}, {Head: "Virtual cores", Kind: "num"}, {Head: "Exit code", Kind: "num"}, {Head: "Logs"}}, rows, "No container is here.")
}

// stateOf is a container's state by the word that it has everywhere.
func stateOf(st *container.Status) string {
	if st.Suspended {
		return "SUSPENDED"
	}
	return st.State.String()
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

func (s webPages) containersPage(w http.ResponseWriter, _ *http.Request) {
	var b look.Body
	s.writeContainers(&b, func(container.Status) bool { return true })
	s.show(w, "All containers running on this node", &b)
}

// failed shows a failure of the API as a page.
func (s webPages) failed(w http.ResponseWriter, err error) {
	status, text := http.StatusInternalServerError, err.Error()
	var e *rest.Error
	if errors.As(err, &e) {
		status, text = e.Status, strings.TrimPrefix(e.Message, "java.lang.Exception: ")
	}
	var b look.Body
	b.WriteString(`<p class="notice">` + esc(text) + "</p>\n")
	s.frame().Page(w, status, http.StatusText(status), &b)
}

func (s webPages) appPage(w http.ResponseWriter, r *http.Request) {
	id, err := parseApp(r.PathValue("app"))
	if err != nil {
		s.failed(w, err)
		return
	}
	app, ok := s.Containers.Application(id)
	if !ok {
		s.failed(w, rest.NotFound("app with id %s not found", id))
		return
	}
	var b look.Body
	page := esc(id)
	if s.Cluster != "" {
		page = link(s.Cluster+"/cluster/app/"+id.String(), id.String())
	}
	b.Facts([2]string{"Application", page}, [2]string{"User", esc(app.User)},
		[2]string{"State", look.Badge(app.State.String())})
	b.Heading("Containers")
	s.writeContainers(&b, func(st container.Status) bool { return st.Grant.ID.Attempt.App == id })
	s.show(w, "Application information", &b)
}

func (s webPages) containerPage(w http.ResponseWriter, r *http.Request) {
	id, err := parseContainer(r.PathValue("container"))
	if err != nil {
		s.failed(w, err)
		return
	}
	c, err := s.Containers.Container(id)
	if err != nil {
		s.failed(w, rest.NotFound("container with id, %s, not found", id))
		return
	}
	st := c.Status()
	var b look.Body
	diagnostics := ""
	if app, here := s.Containers.Application(id.Attempt.App); s.mayDiagnose(r, app, here) && st.Diagnostics != "" {
		diagnostics = esc(st.Diagnostics)
	}
	app := id.Attempt.App.String()
	b.Facts(
		[2]string{"State", look.Badge(stateOf(&st))}, [2]string{"Suspended", suspendedText(&st)},
		[2]string{"Exit code", exitText(st)}, [2]string{"Diagnostics", diagnostics},
		[2]string{"Application", link("/node/application/"+app, app)}, [2]string{"User", esc(st.Grant.User)},
		[2]string{"Memory", esc(fmt.Sprintf("%d MB", st.Grant.Resource.MemoryMB()))},
		[2]string{"Virtual cores", esc(st.Grant.Resource.VCores())},
		[2]string{"In use", esc(fmt.Sprintf("%d MB, %.2f cores", st.Usage.Physical>>20, st.Usage.CPU))},
		[2]string{"Accepted", esc(stamp(st.Started))}, [2]string{"Launched", esc(stamp(st.Launched))},
		[2]string{"Finished", esc(stamp(st.Finished))}, [2]string{"Logs", link(logsPath(id, st.Grant.User), "logs")},
	)
	s.show(w, "Container "+id.String(), &b)
}

// suspendedText says since when a container is suspended, for whom and why.
func suspendedText(st *container.Status) string {
	if !st.Suspended {
		return ""
	}
	text := "since " + stamp(st.Suspension.Since)
	for _, part := range [][2]string{{" for ", st.Suspension.For}, {": ", st.Suspension.Reason}} {
		if part[1] != "" {
			text += part[0] + part[1]
		}
	}
	return esc(text)
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
func (s webPages) logsPage(w http.ResponseWriter, r *http.Request) {
	id, err := parseContainer(r.PathValue("container"))
	if err != nil {
		s.failed(w, err)
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
		s.failed(w, err)
	}
}

func (s webPages) listPage(w http.ResponseWriter, id records.ContainerID, user string) error {
	files, err := s.Logs.List(id)
	if err != nil {
		return err
	}
	var b look.Body
	if len(files) == 0 {
		b.WriteString("<p class=\"none\">No logs yet.</p>\n")
	}
	for _, f := range files {
		fmt.Fprintf(&b, "<p>%s</p>\n", link(fmt.Sprintf("%s/%s/?start=%d", logsPath(id, user), url.PathEscape(f.Name), logs.DefaultStart),
			fmt.Sprintf("%s : Total file length is %d bytes.", f.Name, f.Size)))
	}
	s.show(w, "Logs for "+id.String(), &b)
	return nil
}

func (s webPages) filePage(w http.ResponseWriter, r *http.Request, id records.ContainerID, owner, name string) error {
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
	if s.frame().Begin(w, http.StatusOK, "Logs for "+id.String()) != nil {
		return nil // the client is gone
	}
	if count < size {
		_, _ = fmt.Fprintf(w, "<p>Showing %d bytes of %d total. %s for the full log.</p>\n", count, size,
			link("?start=0", "Click here"))
	}
	_, _ = io.WriteString(w, "<pre>")
	if n, err := io.Copy(escaper{w}, log.Section(offset, count)); err != nil || n < count {
		rest.Abort(w) // its owner has made the log shorter
	}
	_, _ = io.WriteString(w, "</pre>\n")
	look.End(w)
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

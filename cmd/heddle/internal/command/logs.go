package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"heddle/cmd/heddle/internal/follow"
	"heddle/cmd/heddle/internal/option"
	"heddle/yarn/records"
)

var logsVerb = verb{
	name: "logs", title: "heddle logs -applicationId <application ID> [OPTIONS]",
	short:   "Show the logs of containers: from the nodes while an application runs, from the file system afterwards",
	unknown: failed,
	options: func() []option.Option {
		return []option.Option{
			{Name: "applicationId", Arg: "Application ID", Help: "The application."},
			{Name: "applicationAttemptId", Arg: "Application Attempt ID", Help: "Only logs of this attempt; -applicationId may be left out."},
			{Name: "containerId", Arg: "Container ID", Help: "Only logs of this container; -applicationId may be left out."},
			{Name: "am", Arg: "AM Containers", Values: option.Unlimited, Separator: ',', Help: "Only logs of these ApplicationMasters, separated by commas: 1 is the first attempt's, -1 the latest's; or ALL."},
			{Name: "nodeAddress", Arg: "Node Address", Help: "Only logs of this node (host:port)."},
			{Name: "appOwner", Arg: "Application Owner", Help: "Owner of an application that the ResourceManager has forgotten; by default you."},
			{Name: "log_files", Long: "logFiles", Arg: "Log File Name", Values: option.Unlimited, Separator: ',', Help: `Only files with these names; ALL or "*": every file.`},
			{Name: "log_files_pattern", Arg: "Log File Pattern", Values: option.Unlimited, Separator: ',', Help: "Only files whose names match one of these regular expressions as a whole."},
			{Name: "size", Arg: "size", Help: "Only that many bytes of each file: the first ones, or the last ones if negative."},
			{Name: "size_limit_mb", Arg: "Size Limit", Help: "Stops after that many MB; -1: no limit. By default 10240."},
			{Name: "out", Arg: "Local Directory", Help: "Writes one file per container into this folder, below one folder per node."},
			{Name: "list_nodes", Help: "Lists the nodes whose logs have been aggregated."},
			{Name: "show_application_log_info", Help: "Lists the containers that have logs."},
			{Name: "show_container_log_info", Help: "Lists the log files, their lengths and times."},
			{Name: "follow", Help: "Prints what the container named by -containerId or -am writes, until it ends."},
			{Name: "client_max_retries", Arg: "n", Hidden: true},
			{Name: "client_retry_interval_ms", Arg: "n", Hidden: true},
		}
	},
	run: (*session).logs,
}

// wanted says which logs to show.
type wanted struct {
	app        records.ApplicationID
	attempt    *records.AttemptID
	containers []records.ContainerID // all if nil
	node       string                // host:port; any if empty
	files      []string              // names; all if empty
	patterns   []*regexp.Regexp
	size       int64 // the value of -size; logSizeAll: everything
	limit      int64 // bytes; negative: none
}

// logSizeAll is a size beyond that of any log.
const logSizeAll = 1<<63 - 1

func (w *wanted) container(id string) bool {
	parsed, err := records.ParseContainerID(id)
	if err != nil {
		return w.containers == nil && w.attempt == nil
	}
	if w.attempt != nil && parsed.Attempt != *w.attempt {
		return false
	}
	return w.containers == nil || slices.Contains(w.containers, parsed)
}

func (w *wanted) file(name string) bool {
	if len(w.files) == 0 && len(w.patterns) == 0 || slices.Contains(w.files, name) {
		return true
	}
	return slices.ContainsFunc(w.patterns, func(p *regexp.Regexp) bool { return p.MatchString(name) })
}

// describe names the wanted files as yarn does.
func (w *wanted) describe() string {
	all := slices.Clone(w.files)
	for _, p := range w.patterns {
		all = append(all, strings.TrimSuffix(strings.TrimPrefix(p.String(), "^(?:"), ")$"))
	}
	if len(all) == 0 {
		all = []string{"ALL"}
	}
	return list(all)
}

// logFile is a log of a container.
type logFile struct {
	Container string `json:"containerId"`
	Node      string `json:"node"`
	Name      string `json:"fileName"`
	Length    int64  `json:"fileSize"`
	Modified  string `json:"lastModifiedTime"`
	Kind      string `json:"logAggregationType"` // LOCAL or AGGREGATED
	Content   string `json:"content,omitempty"`

	write func(w io.Writer, size int64) error
	// raw writes the log's bytes without a header.
	raw func(w io.Writer, size int64) error
}

// logSource visits logs, all those of a container in a row. It skips what visit doesn't read.
type logSource interface {
	each(w *wanted, visit func(*logFile) error) error
}

func (s *session) logs(l *option.Line) error {
	if len(l.Args) > 0 {
		fmt.Fprintf(s.err, "options parsing failed: %s belongs to no option\n", strings.Join(l.Args, " "))
		return s.usage()
	}
	w, err := s.wantedLogs(l)
	if err != nil {
		return err
	}
	source, done, err := s.logSource(w, l.Value("appOwner"))
	if err != nil {
		return err
	}
	if l.Has("am") {
		if err := s.onlyMasters(w, l.Values("am")); err != nil {
			return err
		}
	}
	switch {
	case l.Has("follow"):
		return follow.Of(s, s.opened, w.containers, w.file, s.out)
	case l.Has("list_nodes"):
		if !done {
			fmt.Fprintln(s.err, "The -list_nodes command can be only used with finished applications")
			return failed
		}
		return s.logNodes(source, w)
	case l.Has("show_application_log_info"):
		return s.logContainers(source, w, done)
	case l.Has("show_container_log_info"):
		return s.logInfo(source, w)
	case slices.Contains(l.Values("am"), "ALL") && !s.json:
		s.print("\nSpecified ALL for -am option. Printed logs for all am containers.\n")
	}
	if l.Has("out") {
		return s.logsInto(l.Value("out"), source, w)
	}
	return s.logsOut(source, w)
}

// identify reads whose logs they are, and reports whether the command line says it, or what is wrong with it.
func (w *wanted) identify(l *option.Line) (known bool, complaint string) {
	if text := l.Value("applicationId"); text != "" {
		id, err := records.ParseApplicationID(text)
		if err != nil {
			return false, fmt.Sprintf("Invalid ApplicationId specified\n%v", err)
		}
		w.app, known = id, true
	}
	if text := l.Value("applicationAttemptId"); text != "" {
		id, err := records.ParseAttemptID(text)
		switch {
		case err != nil:
			return false, fmt.Sprintf("Invalid AppAttemptId specified\n%v", err)
		case known && id.App != w.app:
			return false, fmt.Sprintf("The Application:%v does not have the AppAttempt:%v", w.app, id)
		}
		w.app, w.attempt, known = id.App, &id, true
	}
	if text := l.Value("containerId"); text != "" {
		id, err := records.ParseContainerID(text)
		switch {
		case err != nil:
			return false, fmt.Sprintf("Invalid ContainerId specified\n%v", err)
		case w.attempt != nil && id.Attempt != *w.attempt:
			return false, fmt.Sprintf("The AppAttempt:%v does not have the container:%v", *w.attempt, id)
		case known && id.Attempt.App != w.app:
			return false, fmt.Sprintf("The Application:%v does not have the container:%v", w.app, id)
		}
		w.app, w.containers, known = id.Attempt.App, []records.ContainerID{id}, true
	}
	return known, ""
}

// wantedLogs reads the command line.
func (s *session) wantedLogs(l *option.Line) (*wanted, error) {
	complain := func(format string, args ...any) (*wanted, error) {
		fmt.Fprintf(s.err, format+"\n", args...)
		return nil, failed
	}
	w := &wanted{size: logSizeAll, limit: 10240 << 20, node: l.Value("nodeAddress")}
	known, complaint := w.identify(l)
	switch {
	case complaint != "":
		return complain("%s", complaint)
	case !known:
		fmt.Fprintln(s.err, "None of applicationId, appAttemptId and containerId is available,  one of them must be specified.")
		return nil, s.usage()
	case l.Has("show_application_log_info") && l.Has("show_container_log_info"):
		return complain("Invalid options. Can only accept one of show_application_log_info/show_container_log_info.")
	case l.Has("log_files") && l.Has("log_files_pattern"):
		return complain("Invalid options. Can only accept one of log_files/log_files_pattern.")
	}
	for _, name := range option.Words(l.Values("log_files")) {
		if name == "ALL" || name == "*" {
			w.files = nil
			break
		}
		w.files = append(w.files, name)
	}
	for _, text := range option.Words(l.Values("log_files_pattern")) {
		p, err := regexp.Compile("^(?:" + text + ")$")
		if err != nil {
			return complain("-log_files_pattern %s is not a regular expression: %v", text, err)
		}
		w.patterns = append(w.patterns, p)
	}
	for name, to := range map[string]*int64{"size": &w.size, "size_limit_mb": &w.limit} {
		if text := l.Value(name); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || name == "size_limit_mb" && n > 1<<40 {
				return complain("-%s %s is not a number", name, text)
			}
			if *to = n; name == "size_limit_mb" {
				*to = n << 20
			}
		}
	}
	return w, nil
}

// errTooMuch ends the output at -size_limit_mb.
var errTooMuch = errors.New("the logs are larger than the limit; set another one with -size_limit_mb, or -1 for none")

// count adds a log to the bytes shown so far.
func (w *wanted) count(total *int64, f *logFile) error {
	n := f.Length
	if w.size != logSizeAll {
		n = min(n, max(w.size, -w.size))
	}
	if *total += n; w.limit >= 0 && *total > w.limit {
		return fmt.Errorf("%s of %s: %w", f.Name, f.Container, errTooMuch)
	}
	return nil
}

// logsOut writes logs to standard output.
func (s *session) logsOut(source logSource, w *wanted) error {
	var found []logFile
	var total int64
	n := 0
	err := source.each(w, func(f *logFile) error {
		n++
		if err := w.count(&total, f); err != nil {
			return err
		}
		if !s.json {
			return f.write(s.out, w.size)
		}
		var b bytes.Buffer
		if err := f.raw(&b, w.size); err != nil {
			return err
		}
		f.Content = b.String()
		found = append(found, *f)
		return nil
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return s.noLogs(w)
	}
	if s.json {
		return s.printValue(map[string]any{"logs": found})
	}
	return nil
}

// noLogs prints that nothing matches.
func (s *session) noLogs(w *wanted) error {
	where := ""
	if len(w.containers) == 1 {
		where = fmt.Sprintf(" for the container: %v within", w.containers[0])
	} else {
		where = " for"
	}
	fmt.Fprintf(s.err, "Can not find any log file matching the pattern: %s%s the application: %v\n", w.describe(), where, w.app)
	return failed
}

// logsInto writes logs into files: one for each container, in a folder for each node.
func (s *session) logsInto(dir string, source logSource, w *wanted) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		fmt.Fprintln(s.err, "Invalid value for -out option. Please provide a directory.")
		return failed
	}
	var total int64
	started := map[string]bool{}
	err := source.each(w, func(f *logFile) error {
		if err := w.count(&total, f); err != nil {
			return err
		}
		node := strings.NewReplacer(":", "_", "/", "_").Replace(f.Node)
		file := filepath.Join(dir, node, filepath.Base(f.Container))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
		if !started[file] {
			flags |= os.O_TRUNC
			started[file] = true
		}
		out, err := os.OpenFile(file, flags, 0o644)
		if err != nil {
			return err
		}
		if err := f.write(out, w.size); err != nil {
			out.Close()
			return err
		}
		return out.Close()
	})
	if err == nil && len(started) == 0 {
		return s.noLogs(w)
	}
	return err
}

// logNodes lists the nodes that have logs.
func (s *session) logNodes(source logSource, w *wanted) error {
	nodes := []string{}
	err := source.each(w, func(f *logFile) error {
		if !slices.Contains(nodes, f.Node) {
			nodes = append(nodes, f.Node)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if s.json {
		return s.printValue(map[string]any{"nodes": nodes})
	}
	s.write(strings.Join(nodes, "\n") + "\n\n")
	return nil
}

// logContainers lists the containers that have logs.
func (s *session) logContainers(source logSource, w *wanted, done bool) error {
	type place struct {
		Container string `json:"containerId"`
		Node      string `json:"node"`
	}
	var places []place
	err := source.each(w, func(f *logFile) error {
		if p := (place{f.Container, f.Node}); !slices.Contains(places, p) {
			places = append(places, p)
		}
		return nil
	})
	if err != nil {
		return err
	}
	state := "Running."
	if done {
		state = "Completed."
	}
	if s.json {
		return s.printValue(map[string]any{"applicationState": strings.TrimSuffix(state, "."), "containers": places})
	}
	if len(places) == 0 {
		fmt.Fprintf(s.err, "Can not find any containers for the application:%v.\n", w.app)
		return failed
	}
	s.print("Application State: %s\n", state)
	for _, p := range places {
		s.print("Container: %s on %s\n", p.Container, p.Node)
	}
	return nil
}

// logInfo lists log files.
func (s *session) logInfo(source logSource, w *wanted) error {
	var files []logFile
	err := source.each(w, func(f *logFile) error {
		files = append(files, *f)
		return nil
	})
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return s.noLogs(w)
	}
	if s.json {
		return s.printValue(map[string]any{"logs": files})
	}
	const row = "%30s\t%30s\t%30s\t%30s\n"
	title := ""
	for _, f := range files {
		if t := fmt.Sprintf("Container: %s on %s", f.Container, f.Node); t != title {
			title = t
			s.print("%s\n%s\n", title, strings.Repeat("=", len(title)))
			s.print(row, "LogFile", "LogLength", "LastModificationTime", "LogAggregationType")
			s.print("%s\n", strings.Repeat("=", 136))
		}
		s.print(row, f.Name, strconv.FormatInt(f.Length, 10), f.Modified, f.Kind)
	}
	return nil
}

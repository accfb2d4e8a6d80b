package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/option"
	"heddle/cmd/heddle/internal/restlist"
	"heddle/hdfsadapter"
	"heddle/nm/logs"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// logSource finds an application's logs. done says that the application has ended.
func (s *session) logSource(w *wanted, owner string) (source logSource, done bool, err error) {
	c, err := s.cluster()
	if err != nil {
		return nil, false, err
	}
	req := &pb.GetApplicationReportRequest{}
	req.SetApplicationId(w.app.PB())
	resp, err := cluster.Call(s, c, protocol.GetApplicationReport, req)
	switch {
	case err == nil:
		if a := resp.GetApplicationReport(); !ended(a) {
			return &liveLogs{s, c}, false, nil
		} else if owner == "" {
			owner = a.GetUser()
		}
	case s.Err() != nil:
		return nil, false, err
	case !ipc.IsClass(err, ipc.ApplicationNotFound):
		fmt.Fprintf(s.err, "Unable to get ApplicationState (%s). Attempting to fetch logs directly from the filesystem.\n", message(err))
	default:
		fmt.Fprintln(s.err, "Unable to get ApplicationState. Attempting to fetch logs directly from the filesystem.")
	}
	source, err = s.collectedLogs(w, owner)
	return source, true, err
}

// onlyMasters restricts logs to those of ApplicationMasters: by the number of their attempt, or counted back from the
// latest.
func (s *session) onlyMasters(w *wanted, which []string) error {
	c, err := s.cluster()
	if err != nil {
		return err
	}
	req := &pb.GetApplicationAttemptsRequest{}
	req.SetApplicationId(w.app.PB())
	resp, err := cluster.Call(s, c, protocol.GetApplicationAttempts, req)
	if err != nil {
		fmt.Fprintf(s.err, "Unable to get AM container informations for the application:%v: %s\n", w.app, message(err))
		return failed
	}
	var masters []records.ContainerID
	for _, a := range resp.GetApplicationAttempts() {
		if a.HasAmContainerId() {
			masters = append(masters, records.ContainerIDFrom(a.GetAmContainerId()))
		}
	}
	slices.SortFunc(masters, records.ContainerID.Compare)
	w.containers = []records.ContainerID{}
	for _, text := range option.Words(which) {
		if text == "ALL" {
			w.containers = masters
			return nil
		}
		n, err := strconv.Atoi(text)
		if err != nil || n == 0 {
			fmt.Fprintf(s.err, "-am %s is neither a number of an ApplicationMaster nor ALL\n", text)
			return failed
		}
		i := n - 1
		if n < 0 {
			i = len(masters) + n
		}
		if i < 0 || i >= len(masters) {
			fmt.Fprintf(s.err, "ERROR: Specified AM containerId (%s) exceeds the number of AM containers (%d).\n", text, len(masters))
			return failed
		}
		w.containers = append(w.containers, masters[i])
	}
	return nil
}

// liveLogs reads the logs of a running application from its nodes.
type liveLogs struct {
	s *session
	c *cluster.Cluster
}

// place is a container with the address of its node's web port.
type place struct {
	id         records.ContainerID
	node, http string // host:port
}

func (v *liveLogs) places(w *wanted) ([]place, error) {
	s := v.s
	attempts := []records.AttemptID{}
	if w.attempt != nil {
		attempts = append(attempts, *w.attempt)
	} else {
		req := &pb.GetApplicationAttemptsRequest{}
		req.SetApplicationId(w.app.PB())
		resp, err := cluster.Call(s, v.c, protocol.GetApplicationAttempts, req)
		if err != nil {
			return nil, err
		}
		for _, a := range resp.GetApplicationAttempts() {
			attempts = append(attempts, records.AttemptIDFrom(a.GetApplicationAttemptId()))
		}
	}
	var out []place
	for _, a := range attempts {
		req := &pb.GetContainersRequest{}
		req.SetApplicationAttemptId(a.PB())
		resp, err := cluster.Call(s, v.c, protocol.GetContainers, req)
		if err != nil {
			return nil, err
		}
		for _, r := range resp.GetContainers() {
			id := records.ContainerIDFrom(r.GetContainerId())
			at := place{id, records.NodeIDFrom(r.GetNodeId()).String(), hostOf(r.GetNodeHttpAddress())}
			if w.container(id.String()) && (w.node == "" || w.node == at.node) {
				out = append(out, at)
			}
		}
	}
	slices.SortFunc(out, func(a, b place) int { return a.id.Compare(b.id) })
	return v.ended(w, out)
}

// ended adds an ended container that the command line names. -nodeAddress says on which node it ran.
func (v *liveLogs) ended(w *wanted, found []place) ([]place, error) {
	for _, id := range w.containers {
		if slices.ContainsFunc(found, func(p place) bool { return p.id == id }) {
			continue
		}
		if w.node == "" {
			return nil, fmt.Errorf("%v has ended, and the ResourceManager has no record of its node: give -nodeAddress, or wait until the application has ended", id)
		}
		nodes, err := v.s.nodes(nil)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(nodes, func(n *pb.NodeReport) bool { return records.NodeIDFrom(n.GetNodeId()).String() == w.node })
		if i < 0 {
			return nil, fmt.Errorf("the cluster has no node %s", w.node)
		}
		found = append(found, place{id, w.node, hostOf(nodes[i].GetHttpAddress())})
	}
	return found, nil
}

// hostOf returns the host:port of an address with or without a scheme.
func hostOf(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	return strings.TrimSuffix(address, "/")
}

// containerLogs is a NodeManager's answer about the logs of a container. Some versions write a list of one as an
// object.
type containerLogs struct {
	Kind  string                    `json:"logAggregationType"`
	Node  string                    `json:"nodeId"`
	Files restlist.List[remoteFile] `json:"containerLogInfo"`
}

type remoteFile struct {
	Name     string      `json:"fileName"`
	Size     json.Number `json:"fileSize"`
	Modified string      `json:"lastModifiedTime"`
}

func (v *liveLogs) each(w *wanted, visit func(*logFile) error) error {
	places, err := v.places(w)
	if err != nil {
		return err
	}
	for _, p := range places {
		if err := v.eachOf(p, w, visit); err != nil {
			return fmt.Errorf("logs of %v on %s: %w", p.id, p.node, err)
		}
	}
	return nil
}

func (v *liveLogs) eachOf(p place, w *wanted, visit func(*logFile) error) error {
	a, err := v.c.At(v.s, p.http, cluster.Request{Path: "/ws/v1/node/containers/" + p.id.String() + "/logs"})
	if err != nil {
		return err
	}
	var answer struct {
		Info restlist.List[containerLogs] `json:"containerLogsInfo"`
	}
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		return fmt.Errorf("the NodeManager's list of logs: %w", err)
	}
	for _, info := range answer.Info {
		if info.Kind == "AGGREGATED" {
			continue // the application runs, and its node has these as well
		}
		for _, f := range info.Files {
			if !w.file(f.Name) {
				continue
			}
			length, err := f.Size.Int64()
			if err != nil {
				return fmt.Errorf("the length of %s: %w", f.Name, err)
			}
			path := "/ws/v1/node/containerlogs/" + p.id.String() + "/" + f.Name
			err = visit(&logFile{
				Container: p.id.String(), Node: p.node, Name: f.Name, Length: length, Modified: f.Modified, Kind: "LOCAL",
				write: func(out io.Writer, size int64) error {
					if err := v.copy(out, p.http, path, size); err != nil {
						return err
					}
					_, err := io.WriteString(out, "\n")
					return err
				},
				raw: func(out io.Writer, size int64) error {
					var b bytes.Buffer
					if err := v.copy(&b, p.http, path, size); err != nil {
						return err
					}
					_, err := out.Write(withoutFrame(b.Bytes(), f.Name))
					return err
				},
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// copy writes the part of a log that a NodeManager sends.
func (v *liveLogs) copy(out io.Writer, at, path string, size int64) error {
	var q url.Values
	if size != logSizeAll {
		q = url.Values{"size": {strconv.FormatInt(size, 10)}}
	}
	body, err := v.c.Open(v.s, at, path, q)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(out, body)
	return err
}

// withoutFrame returns the content of a log without the header and the trailer that a NodeManager adds.
func withoutFrame(text []byte, name string) []byte {
	if _, rest, ok := bytes.Cut(text, []byte("LogContents:\n")); ok {
		text = rest
	}
	if i := bytes.LastIndex(text, []byte("End of LogType:"+name)); i >= 0 {
		text = text[:i]
	}
	return text
}

// collectedLogs returns the logs of an ended application that NodeManagers have aggregated.
func (s *session) collectedLogs(w *wanted, owner string) (logSource, error) {
	adapter, err := hdfsadapter.New(s.conf, hdfsadapter.Options{Retry: cluster.Patience})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, adapter.Close)
	c, err := s.cluster()
	if err != nil {
		return nil, err
	}
	remote := logs.OnHDFS(adapter).As(c.User())
	formats := s.conf.Strings("yarn.log-aggregation.file-formats")
	for _, usual := range []string{"TFile", "IFile"} {
		if !slices.Contains(formats, usual) {
			formats = append(formats, usual)
		}
	}
	var places []logs.Place
	for _, format := range formats {
		places = append(places, logs.PlaceOf(format, s.conf.Text))
	}
	owners := []string{owner}
	if owner == "" {
		if owners, err = s.guessOwners(remote, places); err != nil {
			return nil, err
		}
	}
	older := s.conf.Bool("yarn.nodemanager.remote-app-log-dir-include-older")
	var looked []string
	for _, user := range owners {
		out := &archivedLogs{s: s}
		for i, place := range places {
			out.archive = logs.Archive{FS: remote, Older: older && i == 0, Place: place}
			files, err := out.archive.Files(s, w.app, user)
			switch {
			case errors.Is(err, logs.ErrNoLogs), owner == "" && errors.Is(err, fs.ErrPermission): // of a user who was guessed
				looked = append(looked, out.archive.Place.AppDir(w.app, user))
				continue
			case err != nil:
				return nil, err
			}
			out.files = append(out.files, files...)
		}
		if len(out.files) > 0 {
			return out, nil
		}
	}
	if owner == "" {
		fmt.Fprintln(s.err, "Can not find the appOwner. Please specify the correct appOwner")
		fmt.Fprintf(s.err, "Could not locate application logs for %v\n", w.app)
		return nil, failed
	}
	fmt.Fprintf(s.err, "Can not find the logs for the application: %v with the appOwner: %s\n", w.app, owner)
	fmt.Fprintf(s.err, "Log aggregation has not completed or is not enabled: there is nothing in %s\n", strings.Join(looked, ", "))
	return nil, failed
}

// guessOwners lists possible owners of the logs: first the caller, then all other users with a folder of logs.
func (s *session) guessOwners(remote logs.FS, places []logs.Place) ([]string, error) {
	c, err := s.cluster()
	if err != nil {
		return nil, err
	}
	owners := []string{c.User()}
	for _, place := range places {
		infos, err := remote.List(s, place.Root)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("looking for logs: %w", err)
		}
		for _, i := range infos {
			if i.Mode.IsDir() && !slices.Contains(owners, i.Name) {
				owners = append(owners, i.Name)
			}
		}
	}
	return owners, nil
}

type archivedLogs struct {
	s       *session
	archive logs.Archive
	files   []logs.NodeFile
}

func (a *archivedLogs) each(w *wanted, visit func(*logFile) error) error {
	node := strings.ReplaceAll(w.node, ":", "_")
	for _, f := range a.files {
		if node != "" && f.Name != node && !strings.HasPrefix(f.Name, node+"_") {
			continue
		}
		err := a.archive.Each(a.s, f, func(l logs.AggregatedLog, content io.Reader) error {
			if !w.container(l.Container) || !w.file(l.Name) {
				return nil
			}
			return visit(&logFile{
				Container: l.Container, Node: f.Name, Name: l.Name, Length: l.Length, Modified: logs.FormatTime(f.ModTime), Kind: "AGGREGATED",
				write: func(out io.Writer, size int64) error { return l.WriteText(out, content, size) },
				raw: func(out io.Writer, size int64) error {
					offset, count := logs.Size(l.Length, size)
					if err := logs.Skip(content, offset); err != nil {
						return err
					}
					_, err := io.CopyN(out, content, count)
					return err
				},
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

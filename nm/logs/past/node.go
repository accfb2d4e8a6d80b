package past

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"heddle/internal/bounded"
	"heddle/nm/logs/part"
	"heddle/yarn/records"
	"heddle/yarn/rest"
	"heddle/yarn/rest/daemon"
	"heddle/yarn/rest/logplace"
)

// maxAnswer bounds a node's list of logs, in bytes.
const maxAnswer = 4 << 20

// ask asks a node for something of a container's logs, under the name of the user who asks: the node checks rights again. Nodes may be
// hostile: what they answer is bounded, and shown as text; redirects aren't followed.
func (l *Logs) ask(ctx context.Context, id records.ContainerID, path string, q url.Values, p logplace.Place) (*http.Response, error) {
	if p.Web == "" {
		return nil, rest.NotFound("%s", noneOf(id, p))
	}
	if l.kerberos {
		return nil, &rest.Error{
			Status: http.StatusNotImplemented, Class: rest.YarnException,
			Message: "node " + p.Node + " wants a ticket of Kerberos: read this log on the node's own page",
		}
	}
	q.Set("user.name", p.User)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Web+"/ws/v1/node/containers/"+id.String()+"/logs"+path+"?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, text/plain")
	resp, err := l.nodes.Do(req)
	if err != nil {
		return nil, rest.Retriable("node %s doesn't answer: %v", p.Node, err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := bounded.ReadSome(resp.Body, 500)
		if resp.StatusCode >= 300 && resp.StatusCode < 400 {
			return nil, rest.NotFound("%s", noneOf(id, p))
		}
		return nil, &rest.Error{
			Status: resp.StatusCode, Class: rest.YarnException,
			Message: fmt.Sprintf("node %s: %s", p.Node, messageOf(text)),
		}
	}
	return resp, nil
}

// messageOf returns the text of a refusal of a node, which is JSON or text.
func messageOf(body []byte) string {
	var said struct{ RemoteException struct{ Message string } }
	if json.Unmarshal(body, &said) == nil && said.RemoteException.Message != "" {
		return said.RemoteException.Message
	}
	return string(body)
}

// nodesLogs is a node's answer. A list of one may be written as an object.
type nodesLogs struct {
	Kind  string `json:"logAggregationType"`
	Files []struct {
		Name     string      `json:"fileName"`
		Size     json.Number `json:"fileSize"`
		Modified string      `json:"lastModifiedTime"`
	} `json:"containerLogInfo"`
}

func readNodesLogs(body []byte) (all []nodesLogs, err error) {
	var outer struct {
		Info json.RawMessage `json:"containerLogsInfo"`
	}
	if err := json.Unmarshal(body, &outer); err != nil {
		return nil, err
	}
	if err = json.Unmarshal(outer.Info, &all); err != nil {
		var one nodesLogs
		if err = json.Unmarshal(outer.Info, &one); err == nil {
			all = append(all, one)
		}
	}
	return all, err
}

// listOnNode lists the logs of a container that are on its node.
func (l *Logs) listOnNode(ctx context.Context, id records.ContainerID, p logplace.Place) (out containerLogs, err error) {
	resp, err := l.ask(ctx, id, "", url.Values{}, p)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	body, err := bounded.ReadAll(resp.Body, maxAnswer)
	if err != nil {
		return out, rest.Retriable("node %s: %v", p.Node, err)
	}
	all, err := readNodesLogs(body)
	if err != nil {
		return out, rest.Retriable("the answer of node %s can't be read: %v", p.Node, err)
	}
	out = containerLogs{Aggregation: "LOCAL", Container: id.String(), Node: p.Node}
	for _, info := range all {
		if info.Kind == "AGGREGATED" {
			continue // the node has these as well
		}
		for _, f := range info.Files[:min(len(info.Files), maxList)] {
			size, _ := f.Size.Int64()
			e := entry{Name: f.Name, Size: size, ModTime: f.Modified}
			if at, err := time.Parse("Mon Jan 02 15:04:05 -0700 2006", f.Modified); err == nil {
				e.Time = at.UnixMilli()
			}
			out.Files = append(out.Files, e)
		}
	}
	return out, nil
}

// headers are those of a log's part that are passed on.
var headers = []string{"Log-Length", "Log-Start", "Log-Growing"}

// fromNode passes a log on from its node. done is false if nothing was answered.
func (l *Logs) fromNode(w http.ResponseWriter, r *http.Request, id records.ContainerID, name string, p logplace.Place) (done bool, err error) {
	q := url.Values{}
	for _, key := range []string{"start", "end", "find", "size"} {
		if v := r.URL.Query().Get(key); v != "" {
			q.Set(key, v)
		}
	}
	want, parts, err := part.Parse(r.URL.Query())
	if err != nil {
		return false, err
	}
	if want.Download && !q.Has("start") {
		q.Set("start", "0")
	}
	resp, err := l.ask(r.Context(), id, "/"+url.PathEscape(name), q, p)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if parts && resp.Header.Get("Log-Length") == "" {
		return false, &rest.Error{
			Status: http.StatusNotImplemented, Class: rest.YarnException,
			Message: "node " + p.Node + " is none of Heddle's, and sends no parts of logs: read this log on the node's own page",
		}
	}
	h := w.Header()
	daemon.Quarantine(h)
	h.Set("Cache-Control", "no-store")
	for _, name := range headers {
		if v := resp.Header.Get(name); v != "" {
			h.Set(name, v)
		}
	}
	h.Set("Content-Type", rest.TextType)
	if want.Download {
		part.Attach(h, name)
	}
	if _, err := io.Copy(part.Patient(w), resp.Body); err != nil {
		rest.Abort(w)
	}
	return true, nil
}

// sizeOf reads the parameter size, of YARN's text form.
func sizeOf(c *rest.Call) (int64, error) {
	text := c.Query().Get("size")
	if text == "" {
		return 1<<63 - 1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, rest.BadRequest("size must be a number of bytes, from the end if it is negative, and not %.40q", text)
	}
	return n, nil
}

package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/when"
	"heddle/yarn/records"
)

// submissionID is the member of a submission that names the application.
const submissionID = "application-id"

// appSubmit submits the application that a file describes in the form of the REST API ("-": standard input). If it has
// no application-id, appSubmit gets a new one.
func (s *session) appSubmit(file string) error {
	given, err := readSubmission(file)
	if err != nil {
		return err
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	var id string
	if raw, ok := given[submissionID]; ok {
		if err := json.Unmarshal(raw, &id); err != nil {
			return fmt.Errorf("%s: %s: %w", file, submissionID, err)
		}
		if _, err := records.ParseApplicationID(id); err != nil {
			return fmt.Errorf("%s: %s: %w", file, submissionID, err)
		}
	} else {
		a, err := c.REST(s, cluster.Request{Method: http.MethodPost, Path: api + "/apps/new-application"})
		if err != nil {
			return fmt.Errorf("get an id for the application: %w", err)
		}
		var fresh struct {
			ID string `json:"application-id"`
		}
		if err := json.Unmarshal(a.Body, &fresh); err != nil || fresh.ID == "" {
			return errors.New("get an id for the application: the ResourceManager's answer has none")
		}
		id = fresh.ID
		if given[submissionID], err = json.Marshal(id); err != nil {
			return err
		}
	}
	if _, err := c.REST(s, cluster.Request{Method: http.MethodPost, Path: api + "/apps", Body: given}); err != nil {
		return fmt.Errorf("submitting %s: %w", id, err)
	}
	if err := s.accepted(c, id); err != nil {
		return err
	}
	if s.json {
		return s.printValue(map[string]string{submissionID: id})
	}
	s.print("Submitted application %s\n", id)
	return nil
}

// accepted waits until the ResourceManager has placed a submitted application, and fails if it refused it: an unknown queue shows only
// then (Hadoop: YarnClientImpl.submitApplication).
func (s *session) accepted(c *cluster.Cluster, id string) error {
	for {
		var answer struct {
			App struct{ State, Diagnostics string }
		}
		if err := c.GetInto(s, api+"/apps/"+id, nil, &answer); err != nil {
			return fmt.Errorf("submitted %s, but can't see what became of it: %w", id, err)
		}
		switch answer.App.State {
		case "NEW", "NEW_SAVING", "SUBMITTED":
		case "FAILED", "KILLED":
			return fmt.Errorf("failed to submit %s: %s", id, strings.TrimSpace(answer.App.Diagnostics))
		default:
			return nil
		}
		select {
		case <-s.Done():
			return s.Err()
		case <-time.After(submitPoll):
		}
	}
}

// submitPoll is the time between two looks at an application that isn't placed yet.
const submitPoll = 200 * time.Millisecond

// members of a submission, as YARN's REST API has them.
var members = []string{
	submissionID, "application-name", "queue", "priority", "am-container-spec", "unmanaged-AM", "cancel-tokens-when-complete", "max-app-attempts",
	"resource", "application-type", "keep-containers-across-application-attempts", "application-tags", "app-node-label-expression",
	"am-container-node-label-expression", "log-aggregation-context", "attempt-failures-validity-interval", "reservation-id",
	"am-black-listing-requests",
}

// maxSubmission bounds the length of a description, in bytes.
const maxSubmission = 64 << 20

func readSubmission(file string) (map[string]json.RawMessage, error) {
	in := io.Reader(os.Stdin)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSubmission+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	if len(data) > maxSubmission {
		return nil, fmt.Errorf("%s is longer than %d bytes", file, maxSubmission)
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line := 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
			return nil, fmt.Errorf("%s:%d: not JSON: %w", file, line, err)
		}
		return nil, fmt.Errorf("%s: the file must hold a JSON object that describes an application: %w", file, err)
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(members, name) {
			return nil, fmt.Errorf("%s: %q is no member of a submission; there are %s", file, name, strings.Join(members, ", "))
		}
	}
	if m == nil {
		return nil, fmt.Errorf("%s: the file must hold a JSON object that describes an application, not null", file)
	}
	return m, nil
}

// appWhy prints why an application's requests are pending, and why it will lose containers.
func (s *session) appWhy(text string) error {
	type amount struct {
		Memory json.Number `json:"memory"`
		VCores json.Number `json:"vCores"`
	}
	var answer struct {
		Pending struct {
			State, Queue, Summary string
			Reasons               []struct {
				Priority json.Number `json:"priority"`
				Count    json.Number `json:"numContainers"`
				Place    string      `json:"resourceName"`
				Asked    amount      `json:"capability"`
				Limit    string      `json:"limit"`
				Reason   string      `json:"reason"`
				Remedy   string      `json:"remedy"`
			} `json:"reason"`
			Losses []struct {
				Container string `json:"containerId"`
				Until     int64  `json:"until"`
				Reason    string `json:"reason"`
			} `json:"loss"`
		} `json:"pending"`
	}
	id, printed, err := s.askOf(text, "pending", &answer)
	if printed || err != nil {
		return err
	}
	e := answer.Pending
	s.print("%s is %s in queue %s\n", id, e.State, e.Queue)
	said := false // the summary is one of the reasons
	for _, r := range e.Reasons {
		said = said || strings.Contains(e.Summary, r.Reason)
	}
	if e.Summary != "" && !said {
		s.print("%s\n", e.Summary)
	}
	for _, r := range e.Reasons {
		s.print("\t%s x <memory:%s, vCores:%s> at %s, priority %s: %s\n", r.Count, r.Asked.Memory, r.Asked.VCores,
			strings.TrimSpace(r.Place), r.Priority, r.Reason)
		if r.Remedy != "" {
			s.print("\t\tWhat would free it: %s.\n", r.Remedy)
		}
	}
	for _, l := range e.Losses {
		at := "when others need its resources"
		if l.Until != 0 {
			at = "at " + when.Clock(l.Until) + " unless other containers free enough resources"
		}
		s.print("\tloses %s %s: %s\n", l.Container, at, l.Reason)
	}
	return nil
}

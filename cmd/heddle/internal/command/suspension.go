package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/javafmt"
	"heddle/cmd/heddle/internal/option"
	"heddle/cmd/heddle/internal/when"
	"heddle/yarn/records"
)

// containerSuspend suspends a container as the options say.
func (s *session) containerSuspend(l *option.Line) error {
	query := url.Values{}
	for _, name := range []string{"level", "hold", "breathe"} {
		if l.Has(name) {
			query.Set(name, l.Value(name))
		}
	}
	return s.containerControl(l.Value("suspend"), "suspend", query)
}

// containerControl suspends or resumes a container.
func (s *session) containerControl(text, verb string, query url.Values) error {
	id, err := records.ParseContainerID(text)
	if err != nil {
		return err
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	a, err := c.REST(s, cluster.Request{Method: http.MethodPost, Path: heddleAPI + "/containers/" + id.String() + "/" + verb, Query: query})
	if err != nil {
		return notHeddle(err)
	}
	if s.json {
		return s.printJSON(a.Body)
	}
	var answer struct {
		Container struct {
			Level      string
			RanAlready bool
			Suspension struct {
				Text            string
				UnreportedSince json.Number
			}
		} `json:"container"`
	}
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		return fmt.Errorf("the ResourceManager's answer about container %s: %w", id, err)
	}
	state := "is running again"
	switch {
	case when.Millis(answer.Container.Suspension.UnreportedSince) > 0:
		state = "is " + answer.Container.Suspension.Text
	case answer.Container.RanAlready:
		state = "runs already: it was not suspended"
	case verb == "suspend" && answer.Container.Level == "SHRUNK":
		state = "is shrunk"
	case verb == "suspend":
		state = "is suspended"
	}
	s.print("Container %s %s\n", id, state)
	return nil
}

var suspendedColumns = []int{40, 10, 28, 10, 28, 20, 8, 30}

// containerListSuspended prints the suspended and shrunk containers, and those whose nodes have not reported yet that they resume.
func (s *session) containerListSuspended() error {
	path, query := heddleAPI+"/containers", url.Values{"suspended": {"true"}, "sort": {"suspendedSince"}, "limit": {"1000"}}
	if s.json {
		return notHeddle(s.printREST(path, query))
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	var answer struct {
		Containers struct {
			Next      string // cursor of the next page
			Container []struct {
				ContainerID, NodeID, Level string
				Held                       struct{ Memory, VCores json.Number }
				Suspension                 struct {
					For, Text                     string
					Since, Times, UnreportedSince json.Number
					OnNode                        struct{ SwappedBytes json.Number }
				}
			}
		}
	}
	list := answer.Containers.Container
	for more := true; more; more = answer.Containers.Next != "" {
		answer.Containers.Next, answer.Containers.Container = "", nil
		if err := c.GetInto(s, path, query, &answer); err != nil {
			return notHeddle(err)
		}
		list = append(list, answer.Containers.Container...)
		query.Set("cursor", answer.Containers.Next)
	}
	s.print("Total number of suspended containers :%d\n", len(list))
	s.write(javafmt.Row(suspendedColumns, "Container-Id", "Level", "Held", "Swapped", "For", "Since", "Times", "Node-Id"))
	for _, x := range list {
		since, swapped := when.Unknown, when.Unknown
		if ms := when.Millis(x.Suspension.Since); ms > 0 {
			since = when.Clock(ms)[:len("2006-01-02 15:04:05")]
		}
		if n := x.Suspension.OnNode.SwappedBytes; n != "" {
			swapped = fmt.Sprintf("%d MB", when.Millis(n)>>20)
		}
		if when.Millis(x.Suspension.UnreportedSince) > 0 { // its node has not reported that level yet
			x.Level = "to " + x.Level
		}
		s.write(javafmt.Row(suspendedColumns, x.ContainerID, x.Level, fmt.Sprintf("<memory:%s, vCores:%s>", x.Held.Memory, x.Held.VCores), swapped,
			x.Suspension.For, since, string(x.Suspension.Times), x.NodeID))
	}
	return nil
}

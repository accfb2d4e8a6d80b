// Package labels serves the paths of labels of nodes below /ws/v1/cluster.
package labels

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"heddle/rm/labels"
	"heddle/rm/leader/nodelabels"
	"heddle/rm/leader/refusal"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// Base is what comes before all paths.
const Base = "/ws/v1/cluster"

// Config is what the paths need.
type Config struct {
	View labels.Viewer
	// Resource shows an amount.
	Resource func(records.Resource) any
	// Nodes are counted by partitions.
	Counts func() bool
	// Admin refuses callers who may not change labels; path is the last part of what they call.
	Admin func(c *yarnrest.Call, path string) error
	// Done hears what came of such a call.
	Done func(c *yarnrest.Call, path string, err error)
	// Change has the leader change something.
	Change func(func(*nodelabels.Labels) error) error
	// Central: administrators say which label a node has.
	Central bool
	NodeID  func(text string) (records.NodeID, error)
}

type server struct{ Config }

// Route adds the paths.
func Route(api *yarnrest.API, cfg Config) {
	s := &server{cfg}
	get := func(path string, h yarnrest.Handler) {
		api.Handle(Base+path, yarnrest.Methods{http.MethodGet: {Handle: h}})
	}
	get("/get-node-to-labels", s.nodeToLabels)
	get("/label-mappings", s.labelMappings)
	get("/get-node-labels", s.nodeLabels)
	get("/get-rm-node-labels", s.partitions)
	get("/nodes/{node}/get-labels", s.labelsOf)
	post := func(path string, e yarnrest.Endpoint) {
		h := e.Handle
		e.Handle = func(c *yarnrest.Call) (reply yarnrest.Reply, err error) {
			defer func() { s.Done(c, path, err) }()
			if err := s.Admin(c, path); err != nil {
				return yarnrest.Reply{}, err
			}
			return h(c)
		}
		api.Handle(Base+"/"+path, yarnrest.Methods{http.MethodPost: e})
	}
	post("add-node-labels", yarnrest.Endpoint{Handle: s.addLabels, Takes: yarnrest.TakesDocument})
	post("remove-node-labels", yarnrest.Endpoint{Handle: s.removeLabels})
	post("replace-node-to-labels", yarnrest.Endpoint{Handle: s.replaceAllLabels, Takes: yarnrest.TakesDocument})
	post("nodes/{node}/replace-labels", yarnrest.Endpoint{Handle: s.replaceLabels})
}

type nodeToLabelsInfo struct {
	Map nodeToLabelsMap `yarn:"nodeToLabels"`
}

type nodeToLabelsMap struct {
	Entry []nodeToLabelsEntry `yarn:"entry"`
}

type nodeToLabelsEntry struct {
	Key   string        `yarn:"key"`
	Value briefLabelSet `yarn:"value"`
}

type briefLabelSet struct {
	Label []briefLabel `yarn:"nodeLabelInfo"`
}

// briefLabel is a label without what its nodes have.
type briefLabel struct {
	Name      string `yarn:"name"`
	Exclusive bool   `yarn:"exclusivity"`
}

type labelsToNodesInfo struct {
	Map labelsToNodesMap `yarn:"labelsToNodes"`
}

type labelsToNodesMap struct {
	Entry []labelsToNodesEntry `yarn:"entry"`
}

type labelsToNodesEntry struct {
	Key   briefLabel  `yarn:"key"`
	Value nodesOfInfo `yarn:"value"`
}

type nodesOfInfo struct {
	Nodes     []string      `yarn:"nodes"`
	Partition partitionInfo `yarn:"partitionInfo"`
}

type labelSet struct {
	Label []labelWithSize `yarn:"nodeLabelInfo"`
}

type labelWithSize struct {
	Name      string        `yarn:"name"`
	Exclusive bool          `yarn:"exclusivity"`
	Partition partitionInfo `yarn:"partitionInfo"`
}

type labelList struct {
	Label []labelInfo `yarn:"nodeLabelInfo"`
}

type labelInfo struct {
	Name      string        `yarn:"name"`
	Exclusive bool          `yarn:"exclusivity"`
	Partition partitionInfo `yarn:"partitionInfo"`
	Active    int           `yarn:"activeNMs"`
}

type partitionInfo struct {
	Available any `yarn:"resourceAvailable"`
}

func brief(l *labels.Label) briefLabel { return briefLabel{l.Name, l.Exclusive} }

func (s *server) nodeToLabels(*yarnrest.Call) (yarnrest.Reply, error) {
	out := nodeToLabelsInfo{}
	for _, n := range s.View.Nodes() {
		out.Map.Entry = append(out.Map.Entry, nodeToLabelsEntry{n.Node.String(), briefLabelSet{[]briefLabel{brief(&n.Label)}}})
	}
	return yarnrest.OK("nodeToLabelsInfo", yarnrest.Mapped, out), nil
}

// labelMappings shows labels that nodes have, all or those that the parameters name.
func (s *server) labelMappings(c *yarnrest.Call) (yarnrest.Reply, error) {
	wanted := c.Query()["labels"]
	out := labelsToNodesInfo{}
	for _, l := range s.View.All()[1:] {
		if len(l.Nodes) == 0 || len(wanted) > 0 && !slices.Contains(wanted, l.Name) {
			continue
		}
		value := nodesOfInfo{Partition: partitionInfo{s.Resource(l.Size)}}
		for _, id := range l.Nodes {
			value.Nodes = append(value.Nodes, id.String())
		}
		out.Map.Entry = append(out.Map.Entry, labelsToNodesEntry{brief(&l), value})
	}
	return yarnrest.OK("labelsToNodesInfo", yarnrest.Mapped, out), nil
}

func (s *server) nodeLabels(*yarnrest.Call) (yarnrest.Reply, error) {
	var out labelSet
	for _, l := range s.View.All()[1:] {
		out.Label = append(out.Label, labelWithSize{l.Name, l.Exclusive, partitionInfo{s.Resource(l.Size)}})
	}
	return yarnrest.OK("nodeLabelsInfo", yarnrest.Mapped, out), nil
}

// partitions shows all labels and the nodes without one. YARN counts nodes only if labels are in use, that is with its CapacityScheduler.
func (s *server) partitions(*yarnrest.Call) (yarnrest.Reply, error) {
	var out labelList
	for _, l := range s.View.All() {
		if l.Name == "" {
			l.Name = "<DEFAULT_PARTITION>"
		}
		if !s.Counts() {
			l.Size, l.Active = records.Resource{}, 0
		}
		out.Label = append(out.Label, labelInfo{l.Name, l.Exclusive, partitionInfo{s.Resource(l.Size)}, l.Active})
	}
	return yarnrest.OK("nodeLabelsInfo", yarnrest.Mapped, out), nil
}

func (s *server) labelsOf(c *yarnrest.Call) (yarnrest.Reply, error) {
	id, err := s.NodeID(c.Var("node"))
	if err != nil {
		return yarnrest.Reply{}, err
	}
	var out briefLabelSet
	for _, n := range s.View.Nodes() {
		if n.Node == id {
			out.Label = append(out.Label, brief(&n.Label))
		}
	}
	return yarnrest.OK("nodeLabelsInfo", yarnrest.Mapped, out), nil
}

type labelsToAdd struct {
	Label []labelToAdd `yarn:"nodeLabelInfo"`
}

type labelToAdd struct {
	Name      string `yarn:"name"`
	Exclusive bool   `yarn:"exclusivity"`
}

func (s *server) addLabels(c *yarnrest.Call) (yarnrest.Reply, error) {
	var body labelsToAdd
	if err := c.Decode(yarnrest.Target{Root: "nodeLabelsInfo", Value: &body}); err != nil {
		return yarnrest.Reply{}, err
	}
	var labels []nodelabels.Label
	for _, l := range body.Label {
		labels = append(labels, nodelabels.Label{Name: l.Name, Exclusive: l.Exclusive})
	}
	return s.changeLabels(func(l *nodelabels.Labels) error { return l.Add(labels) })
}

func (s *server) removeLabels(c *yarnrest.Call) (yarnrest.Reply, error) {
	return s.changeLabels(func(l *nodelabels.Labels) error { return l.Remove(c.Query()["labels"]) })
}

type labelsToReplace struct {
	Nodes []nodeToReplace `yarn:"nodeToLabels"`
}

type nodeToReplace struct {
	Node   string   `yarn:"nodeId"`
	Labels []string `yarn:"labels"`
}

func (s *server) replaceAllLabels(c *yarnrest.Call) (yarnrest.Reply, error) {
	var body labelsToReplace
	if err := c.Decode(yarnrest.Target{Root: "nodeToLabelsEntryList", Value: &body}); err != nil {
		return yarnrest.Reply{}, err
	}
	var mappings []nodelabels.Mapping
	for _, n := range body.Nodes {
		id, err := s.nodeOrHost(n.Node)
		if err != nil {
			return yarnrest.Reply{}, err
		}
		mappings = append(mappings, nodelabels.Mapping{Node: id, Labels: n.Labels})
	}
	return s.replace(mappings)
}

func (s *server) replaceLabels(c *yarnrest.Call) (yarnrest.Reply, error) {
	id, err := s.nodeOrHost(c.Var("node"))
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return s.replace([]nodelabels.Mapping{{Node: id, Labels: c.Query()["labels"]}})
}

// nodeOrHost reads a node's id, or a host, which stands for all nodes there.
func (s *server) nodeOrHost(text string) (records.NodeID, error) {
	if text != "" && !strings.Contains(text, ":") {
		return records.NodeID{Host: strings.TrimSpace(text)}, nil
	}
	return s.NodeID(text)
}

func (s *server) replace(mappings []nodelabels.Mapping) (yarnrest.Reply, error) {
	if !s.Central {
		return yarnrest.Reply{}, yarnrest.NotFoundBy(yarnrest.IOException, nodelabels.NotCentral)
	}
	return s.changeLabels(func(l *nodelabels.Labels) error { return l.Replace(mappings, false) })
}

// changeLabels has the leader change something. The answer is empty.
func (s *server) changeLabels(change func(*nodelabels.Labels) error) (yarnrest.Reply, error) {
	err := s.Change(func(l *nodelabels.Labels) error { return bare(change(l)) })
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.Reply{Status: http.StatusOK}, nil
}

// bare returns a refusal as YARN shows it: its text names its class, in which nothing is wrapped.
func bare(err error) error {
	var e *refusal.Error
	if errors.As(err, &e) {
		if text, ok := strings.CutPrefix(e.Text, yarnrest.IOException+": "); ok {
			return yarnrest.BadRequestBy(yarnrest.IOException, "%s", text)
		}
	}
	return err
}

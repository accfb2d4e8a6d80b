package rest

import (
	"net/http"

	"heddle/rm/queue"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// routeLabels adds the paths of node labels. There are no labels: all nodes are in the default partition.
func (s *server) routeLabels(api *yarnrest.API) {
	get := func(path string, h yarnrest.Handler) {
		api.Handle(clusterBase+path, yarnrest.Methods{http.MethodGet: {Handle: h}})
	}
	empty := func(root string, value any) yarnrest.Handler {
		return func(*yarnrest.Call) (yarnrest.Reply, error) { return yarnrest.OK(root, yarnrest.Mapped, value), nil }
	}
	get("/get-node-to-labels", empty("nodeToLabelsInfo", noNodeToLabels{}))
	get("/label-mappings", empty("labelsToNodesInfo", noLabelsToNodes{}))
	get("/get-node-labels", empty("nodeLabelsInfo", struct{}{}))
	get("/get-rm-node-labels", s.partitions)
	get("/nodes/{node}/get-labels", s.labelsOf)
	for _, path := range []string{"add-node-labels", "remove-node-labels", "replace-node-to-labels", "nodes/{node}/replace-labels"} {
		e := yarnrest.Endpoint{Handle: s.changeLabels(path)}
		if path == "add-node-labels" || path == "replace-node-to-labels" {
			e.Takes = yarnrest.TakesDocument
		}
		api.Handle(clusterBase+"/"+path, yarnrest.Methods{http.MethodPost: e})
	}
}

type noNodeToLabels struct {
	Map struct{} `yarn:"nodeToLabels"`
}

type noLabelsToNodes struct {
	Map struct{} `yarn:"labelsToNodes"`
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
	Available resourceInfo `yarn:"resourceAvailable"`
}

// partitions shows the only partition. YARN counts its nodes only if labels are in use, that is with its CapacityScheduler.
func (s *server) partitions(*yarnrest.Call) (yarnrest.Reply, error) {
	var sum records.Resource
	active := 0
	if s.Queues.Tree().Kind == queue.Capacity {
		for _, n := range s.View.Nodes() {
			if n.Usable() {
				sum = sum.Add(n.Capability)
				active++
			}
		}
	}
	return yarnrest.OK("nodeLabelsInfo", yarnrest.Mapped, labelList{[]labelInfo{{
		Name: "<DEFAULT_PARTITION>", Exclusive: true, Partition: partitionInfo{s.resource(sum)}, Active: active,
	}}}), nil
}

func (s *server) labelsOf(c *yarnrest.Call) (yarnrest.Reply, error) {
	if _, err := nodeID(c.Var("node")); err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("nodeLabelsInfo", yarnrest.Mapped, struct{}{}), nil
}

func (s *server) changeLabels(path string) yarnrest.Handler {
	return func(c *yarnrest.Call) (yarnrest.Reply, error) {
		if s.Access.Enabled && !s.Access.Admin(caller(c)) {
			return yarnrest.Reply{}, yarnrest.Unauthorized("User %s not authorized for post to .../%s ", caller(c), path)
		}
		if s.Conf.Bool("yarn.node-labels.enabled") {
			return yarnrest.Reply{}, yarnrest.BadRequestBy(yarnrest.IOException,
				"Heddle has no node labels, whatever yarn.node-labels.enabled says: all nodes are in the default partition")
		}
		return yarnrest.Reply{}, yarnrest.BadRequestBy(yarnrest.IOException,
			"Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled")
	}
}

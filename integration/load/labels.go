package load

import (
	"context"
	"fmt"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// Labels returns the names of n labels.
func Labels(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("p%d", i+1))
	}
	return names
}

// PartitionSettings let the queue root.default, as it is without settings of queues, use labels that nodes bring: KEY=VALUE.
func PartitionSettings(labels []string) []string {
	if len(labels) == 0 {
		return nil
	}
	settings := []string{
		"yarn.node-labels.enabled=true", "yarn.node-labels.configuration-type=distributed", "yarn.scheduler.capacity.root.queues=default",
		"yarn.scheduler.capacity.root.default.capacity=100", "yarn.scheduler.capacity.maximum-am-resource-percent=1",
	}
	for _, name := range labels {
		settings = append(settings, "yarn.scheduler.capacity.root.default.accessible-node-labels."+name+".capacity=100")
	}
	return settings
}

// AddLabels makes the labels of a load known to the ResourceManager.
func AddLabels(ctx context.Context, o Options) error {
	if len(o.Labels) == 0 {
		return nil
	}
	client := o.client()
	defer client.Close()
	req := &pb.AddToClusterNodeLabelsRequest{}
	var list []*pb.NodeLabel
	for _, name := range o.Labels {
		l := &pb.NodeLabel{}
		l.SetName(name)
		list = append(list, l)
	}
	req.SetNodeLabels(list)
	_, err := protocol.AddToClusterNodeLabels.Call(ctx, client.Failover(o.Admin, protocol.Administration, o.user(), ipc.RetryPolicy{}), req)
	if err != nil {
		return fmt.Errorf("add the labels %v: %w", o.Labels, err)
	}
	return nil
}

// labelOfNode returns the label of the i-th node. Some have none, as ApplicationMasters that aren't managed count among these.
func labelOfNode(o *Options, i int) string {
	if i%(len(o.Labels)+1) == len(o.Labels) {
		return ""
	}
	return o.Labels[i%(len(o.Labels)+1)]
}

// labelOf returns the label that the i-th ApplicationMaster asks for.
func labelOf(o *Options, i int) string {
	if len(o.Labels) == 0 {
		return ""
	}
	return o.Labels[i%len(o.Labels)]
}

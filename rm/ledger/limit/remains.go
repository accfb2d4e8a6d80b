package limit

import "heddle/yarn/pb"

// Remains returns what an ended application keeps of its submission: what lists, reports and rights need. The rest (files, environment,
// commands, credentials) was for starting its ApplicationMaster, and is dropped.
func Remains(ctx *pb.ApplicationSubmissionContext) *pb.ApplicationSubmissionContext {
	kept := &pb.ApplicationSubmissionContext{}
	if ctx.HasApplicationId() {
		kept.SetApplicationId(ctx.GetApplicationId())
	}
	if ctx.HasApplicationName() {
		kept.SetApplicationName(Head(ctx.GetApplicationName(), MaxName))
	}
	if ctx.HasApplicationType() {
		kept.SetApplicationType(Head(ctx.GetApplicationType(), MaxName))
	}
	if ctx.HasNodeLabelExpression() {
		kept.SetNodeLabelExpression(Head(ctx.GetNodeLabelExpression(), MaxName))
	}
	if ctx.HasUnmanagedAm() {
		kept.SetUnmanagedAm(ctx.GetUnmanagedAm())
	}
	for _, row := range ctx.GetAmContainerResourceRequest() {
		if label := row.GetNodeLabelExpression(); label != "" { // lists show that of the ApplicationMaster
			only := &pb.ResourceRequest{}
			only.SetResourceName(Head(row.GetResourceName(), MaxName))
			only.SetNodeLabelExpression(Head(label, MaxLabel))
			kept.SetAmContainerResourceRequest([]*pb.ResourceRequest{only})
			break
		}
	}
	kept.SetApplicationTags(ctx.GetApplicationTags())
	if lists := ctx.GetAmContainerSpec().GetApplication_ACLs(); len(lists) > 0 {
		spec := &pb.ContainerLaunchContext{}
		spec.SetApplication_ACLs(lists)
		kept.SetAmContainerSpec(spec)
	}
	return kept
}

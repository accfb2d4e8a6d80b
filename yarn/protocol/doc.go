// Package protocol is the table of YARN's protocols. Every method is a value that knows its name on the wire and the
// types of its request and response.
//
// A client calls a method through an ipc.Invoker; a server gives it a function:
//
//	resp, err := protocol.GetNewApplication.Call(ctx, rm, &pb.GetNewApplicationRequest{})
//
//	protocol.GetNewApplication.Serve(server, func(ctx context.Context, req *pb.GetNewApplicationRequest) (
//		*pb.GetNewApplicationResponse, error) { … })
package protocol

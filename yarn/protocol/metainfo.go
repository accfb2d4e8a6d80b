package protocol

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
)

// serveMetaInfo answers questions about the protocols of a server as Hadoop's servers do.
func serveMetaInfo(s *ipc.Server) {
	serve(s, GetProtocolVersions, func(context.Context, *pb.GetProtocolVersionsRequest) (*pb.GetProtocolVersionsResponse, error) {
		// Hadoop's servers fail on every such call. Their response has an entry for each kind of RPC, and entries for
		// kinds that aren't served lack a required field. Clients don't make this call.
		return nil, ipc.NewException(ipc.UninitializedMessage, "Message missing required fields: rpcKind")
	})
	serve(s, GetProtocolSignature, func(_ context.Context, req *pb.GetProtocolSignatureRequest) (*pb.GetProtocolSignatureResponse, error) {
		resp := &pb.GetProtocolSignatureResponse{}
		if _, ok := pb.RpcKind_value[req.GetRpcKind()]; !ok {
			return nil, ipc.NewException(ipc.IllegalArgumentException,
				"No enum constant org.apache.hadoop.ipc.RPC.RpcKind.%s", req.GetRpcKind())
		}
		p, ok := s.Protocol(req.GetProtocol())
		if !ok || req.GetRpcKind() != pb.RpcKind_RPC_PROTOCOL_BUFFER.String() {
			return resp, nil
		}
		sig := &pb.ProtocolSignature{}
		sig.SetVersion(p.Version)
		sig.SetMethods(Fingerprints(p))
		resp.SetProtocolSignature([]*pb.ProtocolSignature{sig})
		return resp, nil
	})
}

// Fingerprints returns the numbers by which Java clients find out which methods a protocol has, in the order of signed
// integers (Hadoop: ProtocolSignature.getFingerprint, over the names of the Java classes in a method's signature).
func Fingerprints(p ipc.Protocol) []uint32 {
	var signed []int32
	for _, d := range All() {
		if d.Protocol == p {
			signed = append(signed, fingerprint(d))
		}
	}
	slices.Sort(signed)
	out := make([]uint32, len(signed))
	for i, f := range signed {
		out[i] = uint32(f)
	}
	return out
}

func fingerprint(d Descriptor) int32 {
	h := javaHash(d.Name) + 31*javaHash(javaClass(d.NewResponse()))
	for _, param := range []string{"org.apache.hadoop.thirdparty.protobuf.RpcController", javaClass(d.NewRequest())} {
		h = 31*h ^ javaHash(param)
	}
	return h
}

// javaHash is String.hashCode for ASCII.
func javaHash(s string) int32 {
	var h int32
	for i := range len(s) {
		h = 31*h + int32(s[i])
	}
	return h
}

// javaClass returns the name of the Java class of a message: its outer class goes by the file that defines it.
func javaClass(m proto.Message) string {
	d := m.ProtoReflect().Descriptor()
	outer := map[string]string{
		"ha":        "org.apache.hadoop.ha.proto.HAServiceProtocolProtos",
		"hdfs":      "org.apache.hadoop.hdfs.protocol.proto.ClientNamenodeProtocolProtos",
		"ipc":       "org.apache.hadoop.ipc.protobuf.ProtocolInfoProtos",
		"security":  "org.apache.hadoop.security.proto.SecurityProtos",
		"yarn":      "org.apache.hadoop.yarn.proto.YarnProtos",
		"service":   "org.apache.hadoop.yarn.proto.YarnServiceProtos",
		"server":    "org.apache.hadoop.yarn.proto.YarnServerCommonServiceProtos",
		"admin":     "org.apache.hadoop.yarn.proto.YarnServerResourceManagerServiceProtos",
		"localizer": "org.apache.hadoop.yarn.proto.YarnServerNodemanagerServiceProtos",
		"heddle":    "heddle.HeddleProtos", // there is none
	}[strings.TrimSuffix(d.ParentFile().Path()[strings.LastIndexByte(d.ParentFile().Path(), '/')+1:], ".proto")]
	return outer + "$" + string(d.Name()) + "Proto"
}

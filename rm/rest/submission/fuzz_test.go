package submission

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// FuzzSubmission: whatever a body has in it, it is refused with a reason, or makes a message that survives the wire.
func FuzzSubmission(f *testing.F) {
	for _, s := range []string{
		`{"application-id":"application_1_0001","application-name":"n","queue":"q","priority":3,"resource":{"memory":1,"vCores":1}}`,
		`{"application-id":"application_1_0001","am-container-spec":{"commands":{"command":["a","b"]},"environment":{"entry":{"key":"K","value":1}},` +
			`"local-resources":{"entry":[{"key":"f","value":{"resource":"hdfs://h:1/f#x","type":"FILE","visibility":"PUBLIC","size":1,"timestamp":2}}]},` +
			`"service-data":{"entry":[{"key":"s","value":"AA=="}]},"credentials":{"secrets":{"entry":[{"key":"s","value":"AAAA"}]}},` +
			`"application-acls":{"entry":[{"key":"VIEW_APP","value":"u g"}]}},"application-tags":{"tag":"t"}}`,
		`{"application-id":"application_1_0001","resource":{"resourceInformations":{"resourceInformation":[{"name":"memory-mb","value":-1}]}}}`,
		`{"application-id":["application_1_0001",null,[[[]]]],"resource":{"memory":9223372036854775808}}`,
		`"text"`, `[]`, `{`, ``,
	} {
		f.Add("application/json", []byte(s))
	}
	for _, s := range []string{
		`<application-submission-context><application-id>application_1_0001</application-id><priority>1</priority><am-container-spec>` +
			`<commands><command>x</command></commands></am-container-spec></application-submission-context>`,
		`<!DOCTYPE a [<!ENTITY x "y">]><application-submission-context>&x;</application-submission-context>`, `<a/>`, `<application-submission-context>`,
	} {
		f.Add("application/xml", []byte(s))
	}
	types, err := records.NewResourceTypes()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		given := New()
		err := yarnrest.Decode(contentType, body, yarnrest.Target{Root: "application-submission-context", Value: &given})
		var ctx *pb.ApplicationSubmissionContext
		if err == nil {
			ctx, err = given.Context(types, records.NewResource(8192, 4))
		}
		if err != nil {
			var e *yarnrest.Error
			if !errors.As(err, &e) || e.Status < 400 || e.Status >= 500 {
				t.Fatalf("refused by %T: %v", err, err)
			}
			return
		}
		wire, err := proto.Marshal(ctx)
		if err != nil {
			t.Fatalf("the message can't be sent: %v", err)
		}
		var back pb.ApplicationSubmissionContext
		if err := proto.Unmarshal(wire, &back); err != nil || !proto.Equal(ctx, &back) {
			t.Fatalf("the message isn't the same after the wire: %v", err)
		}
		if size := ctx.GetResource(); size.GetMemory() < 0 || size.GetMemory() > 8192 || size.GetVirtualCores() > 4 {
			t.Fatalf("admits %v", size)
		}
	})
}

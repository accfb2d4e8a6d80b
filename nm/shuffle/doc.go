// Package shuffle is the auxiliary service mapreduce_shuffle. Like Hadoop's ShuffleHandler, it serves the outputs of
// MapReduce's (and Tez's) map tasks over HTTP, so that unmodified reducers fetch from it.
//
// A map task leaves its sorted output in the application's directory in one of the local directories:
//
//	<dir>/usercache/<user>/appcache/<application>/output/<attempt>/file.out
//	<dir>/usercache/<user>/appcache/<application>/output/<attempt>/file.out.index
//
// The index has each reducer's range of file.out. A reducer asks for the outputs of several maps at once, and gets one
// body with a header before each output. An HMAC over the URL proves that it knows the job's shuffle secret. The
// ApplicationMaster gave that to the NodeManager with the application's first container (service_data). The answer has
// an HMAC over the reducer's.
//
// Bytes on the wire are those of ShuffleHandler, including the case and order of headers: testdata has recordings of
// it. Therefore responses are written by hand. This also lets the kernel's sendfile move file.out to the socket.
//
// Map outputs belong to the user, who may have put anything in their place. The service follows no links on the way to
// them. If containers run as other users, a file has to belong to the right one.
package shuffle

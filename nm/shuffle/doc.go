// Package shuffle is the auxiliary service mapreduce_shuffle: it serves the outputs of MapReduce's (and Tez's) map tasks to
// reducers over HTTP, as Hadoop's ShuffleHandler does, so that unmodified reducers fetch from it.
//
// A map task leaves its sorted output in the application's directory of one of the local directories,
//
//	<dir>/usercache/<user>/appcache/<application>/output/<attempt>/file.out
//	<dir>/usercache/<user>/appcache/<application>/output/<attempt>/file.out.index
//
// of which the index has, per reducer, the range of file.out that is for it. A reducer asks for the outputs of several
// maps at once and gets one body in which each is preceded by a header. It proves with an HMAC over the URL that it knows
// the job's shuffle secret, which the application master gave to the NodeManager with the first container of the
// application (service_data), and gets an HMAC over that back.
//
// Bytes on the wire are those of ShuffleHandler, to the case and order of the headers: testdata has recordings of it.
// Responses are written by hand for that reason, and so that the kernel's sendfile moves file.out to the socket.
//
// Map outputs belong to the user, who may have put anything in their place. No link is followed on the way to them, and
// where containers run as other users, a file has to belong to the right one.
package shuffle

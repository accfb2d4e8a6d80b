import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.UpdateContainerError;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.api.records.UpdatedContainer;
import org.apache.hadoop.yarn.api.records.YarnApplicationAttemptState;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.util.Records;

/** An unmanaged ApplicationMaster that makes a running container larger and smaller, with Hadoop's client libraries. */
public class Grow {
    static YarnClient yarn;
    static AMRMClient<ContainerRequest> am;
    static NMClient nm;
    static Container container;
    static final List<ContainerStatus> completed = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        YarnConfiguration conf = new YarnConfiguration();
        yarn = YarnClient.createYarnClient();
        am = AMRMClient.createAMRMClient();
        nm = NMClient.createNMClient();
        yarn.init(conf);
        yarn.start();
        ApplicationId id = submit();
        System.out.println("application " + id);
        UserGroupInformation.getCurrentUser().addToken(yarn.getAMRMToken(id));
        am.init(conf);
        am.start();
        nm.init(conf);
        nm.start();
        am.registerApplicationMaster("localhost", 0, "");
        start();

        say("at first", size(256));
        Container first = container;
        update("more", first, ContainerUpdateType.INCREASE_RESOURCE, 512, 2);
        nm.updateContainerResource(container);
        say("more", size(512));
        update("of an old version", first, ContainerUpdateType.INCREASE_RESOURCE, 768, 2);
        update("far too much", container, ContainerUpdateType.INCREASE_RESOURCE, 1 << 20, 2);
        update("less", container, ContainerUpdateType.DECREASE_RESOURCE, 256, 1);
        say("less", size(256));
        update("more again", container, ContainerUpdateType.INCREASE_RESOURCE, 768, 1);
        nm.updateContainerResource(container);
        say("more again", size(768));

        nm.stopContainer(container.getId(), container.getNodeId());
        until("the container has ended", () -> {
            allocate();
            return completed.isEmpty() ? null : completed;
        });
        System.out.println("ended " + completed.get(0).getExitStatus() + " " + completed.get(0).getCapability());
        am.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "grown", "");
        System.exit(0);
    }

    interface Attempt<T> {
        T get() throws Exception;
    }

    /** Tries until there is an answer. */
    static <T> T until(String what, Attempt<T> attempt) throws Exception {
        for (int i = 0; i < 600; i++) {
            T got = attempt.get();
            if (got != null) {
                return got;
            }
            Thread.sleep(100);
        }
        throw new IllegalStateException("not within a minute: " + what);
    }

    static ApplicationId submit() throws Exception {
        ApplicationSubmissionContext c = yarn.createApplication().getApplicationSubmissionContext();
        c.setApplicationName("grow");
        c.setUnmanagedAM(true);
        c.setQueue("default");
        c.setResource(Resource.newInstance(128, 1));
        c.setAMContainerSpec(Records.newRecord(ContainerLaunchContext.class));
        yarn.submitApplication(c);
        ApplicationId id = c.getApplicationId();
        until("the attempt is launched", () -> {
            var attempt = yarn.getApplicationReport(id).getCurrentApplicationAttemptId();
            return yarn.getApplicationAttemptReport(attempt).getYarnApplicationAttemptState() == YarnApplicationAttemptState.LAUNCHED ? id : null;
        });
        return id;
    }

    static void start() throws Exception {
        am.addContainerRequest(new ContainerRequest(Resource.newInstance(256, 1), null, null, Priority.newInstance(1)));
        container = until("a container", () -> {
            List<Container> got = allocate().getAllocatedContainers();
            return got.isEmpty() ? null : got.get(0);
        });
        nm.startContainer(container, ContainerLaunchContext.newInstance(Map.of(), Map.of(), List.of("sleep 600"), Map.of(), null, null));
    }

    static AllocateResponse allocate() throws Exception {
        AllocateResponse r = am.allocate(0.5f);
        completed.addAll(r.getCompletedContainersStatuses());
        return r;
    }

    /** Asks for a change, and shows what becomes of it. */
    static void update(String what, Container of, ContainerUpdateType kind, int memory, int cores) throws Exception {
        am.requestContainerUpdate(of, UpdateContainerRequest.newInstance(of.getVersion(), of.getId(), kind, Resource.newInstance(memory, cores), null));
        String got = until(what, () -> {
            AllocateResponse r = allocate();
            for (UpdateContainerError e : r.getUpdateErrors()) {
                return "refused: " + e.getReason() + ", version " + e.getCurrentContainerVersion();
            }
            for (UpdatedContainer u : r.getUpdatedContainers()) {
                container = u.getContainer();
                return u.getUpdateType() + " to " + container.getResource() + ", version " + container.getVersion();
            }
            return null;
        });
        System.out.println(what + ": " + got);
    }

    /** Waits until the node gives the container so much memory, and tells what node and ResourceManager say. */
    static String size(int memory) throws Exception {
        return until("a container of " + memory + " MB", () -> {
            ContainerStatus s = nm.getContainerStatus(container.getId(), container.getNodeId());
            Resource held = yarn.getContainerReport(container.getId()).getAllocatedResource();
            return s.getCapability().getMemorySize() == memory && held.getMemorySize() == memory
                ? s.getState() + " " + s.getCapability() + ", held " + held : null;
        });
    }

    static void say(String what, String text) {
        System.out.println(what + ": " + text);
    }
}

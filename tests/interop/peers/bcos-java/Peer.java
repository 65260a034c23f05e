import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.fisco.bcos.sdk.BcosSDK;
import org.fisco.bcos.sdk.amop.AmopCallback;
import org.fisco.bcos.sdk.amop.AmopMsgOut;
import org.fisco.bcos.sdk.amop.AmopResponse;
import org.fisco.bcos.sdk.amop.AmopResponseCallback;
import org.fisco.bcos.sdk.amop.topic.AmopMsgIn;
import org.fisco.bcos.sdk.amop.topic.TopicType;
import org.fisco.bcos.sdk.config.ConfigOption;
import org.fisco.bcos.sdk.config.model.ConfigProperty;
import org.fisco.bcos.sdk.crypto.keystore.KeyTool;
import org.fisco.bcos.sdk.crypto.keystore.PEMKeyStore;
import org.fisco.bcos.sdk.model.MsgType;
import org.fisco.bcos.sdk.network.TimeoutConfig;

/**
 * Clients of FISCO BCOS nodes on its Java SDK, driven by JSON lines: commands on stdin, events to
 * the file that is named on the command line. The language is written down in ../README.md.
 *
 * <p>The program ends with its stdin, so it cannot outlive the test that started it.
 */
public final class Peer {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Where events go. */
    private static PrintStream events;

    private final Map<String, BcosSDK> clients = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        // The SDK's native library prints to the real stdout, which the caller has put elsewhere.
        FileOutputStream file = new FileOutputStream(arguments[0]);
        events = new PrintStream(file, false, StandardCharsets.UTF_8);
        say(event("ready").put("id", "java").set("addresses", JSON.createArrayNode()));
        Peer peer = new Peer();
        // One command may wait long for its answer: the next one does not wait for it.
        ExecutorService workers = Executors.newCachedThreadPool();
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode command = JSON.readTree(line);
            if (command.path("do").asText().equals("stop")) {
                say(event("stop"));
                break;
            }
            workers.execute(() -> peer.obey(command));
        }
        // An orderly stop of the SDK takes seconds; the end of the process closes its connections.
        Runtime.getRuntime().halt(0);
    }

    // ---- events

    private static ObjectNode event(String name) {
        return JSON.createObjectNode().put("event", name);
    }

    private static void say(JsonNode event) {
        synchronized (events) {
            events.println(event);
            events.flush();
        }
    }

    // ---- commands

    private void obey(JsonNode command) {
        String name = command.path("do").asText();
        ObjectNode answer = event(name);
        try {
            fill(answer, command);
        } catch (Exception | Error problem) {
            answer = event("error").put("do", name).put("problem", String.valueOf(problem));
        }
        answer.put("client", command.path("client").asText());
        answer.set("number", command.path("number"));
        say(answer);
    }

    private void fill(ObjectNode answer, JsonNode command) throws Exception {
        String name = command.path("client").asText();
        String topic = command.path("topic").asText();
        String wanted = command.path("do").asText();
        if (wanted.equals("connect")) {
            connect(name, command, answer);
            return;
        }
        BcosSDK sdk = clients.get(name);
        if (sdk == null) {
            throw new IllegalArgumentException("no such client: " + name);
        }
        answer.put("topic", topic);
        switch (wanted) {
            case "disconnect" -> {
                clients.remove(name);
                sdk.stopAll();
            }
            case "nodes" -> answer.set("nodes", JSON.valueToTree(sdk.getChannel().getAvailablePeer()));
            case "subscribe" -> subscribe(sdk, name, command);
            case "unsubscribe" -> sdk.getAmop().unsubscribeTopic(topic);
            case "admit" -> {
                List<KeyTool> keys = new ArrayList<>();
                for (JsonNode file : command.path("public_keys")) {
                    keys.add(new PEMKeyStore(file.asText()));
                }
                sdk.getAmop().publishPrivateTopic(topic, keys);
            }
            case "unicast" -> unicast(sdk, command, answer);
            case "multicast" -> sdk.getAmop().broadcastAmopMsg(message(command));
            default -> throw new IllegalArgumentException("no such command: " + wanted);
        }
    }

    private void connect(String name, JsonNode command, ObjectNode answer) throws Exception {
        long begin = System.nanoTime();
        if (command.hasNonNull("redial_seconds")) {
            // The SDK's own interval is 20 s; it is one for all of its objects.
            TimeoutConfig.reconnectDelay = (long) (command.get("redial_seconds").asDouble() * 1e3);
        }
        String address = command.path("address").asText();
        ConfigProperty property = new ConfigProperty();
        property.setCryptoMaterial(Map.of("certPath", command.path("certificates").asText()));
        property.setNetwork(Map.of("peers", List.of(address)));
        clients.put(name, new BcosSDK(new ConfigOption(property)));
        answer.put("address", address).put("seconds", secondsSince(begin));
    }

    /** The answer to a message is the name of the client that got it, a colon, and the message. */
    private void subscribe(BcosSDK sdk, String name, JsonNode command) {
        String topic = command.path("topic").asText();
        AmopCallback callback =
                new AmopCallback() {
                    @Override
                    public byte[] receiveAmopMsg(AmopMsgIn message) {
                        byte[] answer = joined(name + ":", message.getContent());
                        boolean single = message.getType() == (short) MsgType.AMOP_REQUEST.getType();
                        ObjectNode event = event("message").put("client", name);
                        event.put("topic", message.getTopic());
                        event.put("private", message.getTopicType() == TopicType.PRIVATE_TOPIC);
                        event.put("mode", single ? "unicast" : "multicast");
                        event.put("data_base64", base64(message.getContent()));
                        event.put("answer_base64", single ? base64(answer) : null);
                        say(event);
                        return answer;
                    }
                };
        if (command.hasNonNull("private_key")) {
            KeyTool key = new PEMKeyStore(command.get("private_key").asText());
            sdk.getAmop().subscribePrivateTopics(topic, key, callback);
        } else {
            sdk.getAmop().subscribeTopic(topic, callback);
        }
    }

    private void unicast(BcosSDK sdk, JsonNode command, ObjectNode answer) throws Exception {
        CompletableFuture<AmopResponse> waiting = new CompletableFuture<>();
        AmopMsgOut message = message(command);
        message.setTimeout((long) (command.path("seconds").asDouble(5) * 1e3));
        long begin = System.nanoTime();
        sdk.getAmop()
                .sendAmopMsg(
                        message,
                        new AmopResponseCallback() {
                            @Override
                            public void onResponse(AmopResponse response) {
                                waiting.complete(response);
                            }
                        });
        AmopResponse response = waiting.get();
        AmopMsgIn content = response.getAmopMsgIn();
        answer.put("code", response.getErrorCode()).put("problem", response.getErrorMessage());
        answer.put("data_base64", content == null ? null : base64(content.getContent()));
        answer.put("seconds", secondsSince(begin));
    }

    private static AmopMsgOut message(JsonNode command) {
        AmopMsgOut message = new AmopMsgOut();
        boolean isPrivate = command.path("private").asBoolean();
        message.setType(isPrivate ? TopicType.PRIVATE_TOPIC : TopicType.NORMAL_TOPIC);
        message.setTopic(command.path("topic").asText());
        message.setContent(Base64.getDecoder().decode(command.path("data_base64").asText()));
        return message;
    }

    // ---- small things

    private static double secondsSince(long begin) {
        return (System.nanoTime() - begin) / 1e9;
    }

    private static String base64(byte[] data) {
        return Base64.getEncoder().encodeToString(data);
    }

    private static byte[] joined(String before, byte[] data) {
        byte[] head = before.getBytes(StandardCharsets.UTF_8);
        byte[] all = new byte[head.length + data.length];
        System.arraycopy(head, 0, all, 0, head.length);
        System.arraycopy(data, 0, all, head.length, data.length);
        return all;
    }
}

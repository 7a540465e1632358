"""The English of the generated dialogues. All of it is made up."""

from typing import Final

from benchmarks.quality.phrases import Event, Fact, Language

_FACTS: Final = (
    Fact(
        ("My dentist is {v}, she is very gentle.", "I go to a dentist called {v} now."),
        "Who is {who}'s dentist?",
        "What was the name of your dentist again?",
        ("Dr. Okonjo", "Dr. Haldane", "Dr. Petrosyan", "Dr. Lindqvist", "Dr. Marchetti"),
        ("I changed my dentist, it is {v} now.",),
    ),
    Fact(
        ("I live in {v}, on the third floor.", "We found a flat in {v}."),
        "Where does {who} live?",
        "Which part of town do you live in again?",
        ("Alfama", "Wicker Park", "Leith", "Nørrebro", "Friedrichshain", "Gràcia"),
        ("We moved, our flat is in {v} now.", "I live in {v} since last week."),
    ),
    Fact(
        ("Our dog is called {v}.", "We named the puppy {v}."),
        "What is the name of {who}'s dog?",
        "How is your dog doing? I forgot its name.",
        ("Biscuit", "Tofu", "Captain", "Pixel", "Olive"),
    ),
    Fact(
        ("I work as a {v}.", "By day I am a {v}, did I say that?"),
        "What is {who}'s job?",
        "What is it that you do for work again?",
        ("hydrologist", "paralegal", "set designer", "beekeeper", "radiographer", "actuary"),
        ("I have a new job: I am a {v} now.", "I quit. From Monday on I am a {v}."),
    ),
    Fact(
        ("My birthday is on {v}.", "I was born on {v}, so I am a winter child."),
        "When is {who}'s birthday?",
        "When is your birthday, remind me?",
        ("9 February", "23 January", "2 December", "17 November", "30 January"),
    ),
    Fact(
        ("The code of the front door is {v}.", "To get in, type {v} at the door."),
        "What is the code of {who}'s front door?",
        "What is your door code again?",
        ("4471", "9038", "2266", "7150", "8812", "3394"),
        ("They changed our door code to {v}.", "The door code is {v} from today on."),
    ),
    Fact(
        ("I take my coffee with {v}.", "Coffee for me with {v}, always."),
        "How does {who} take coffee?",
        "How do you like your coffee again?",
        ("oat milk", "two sugars", "cardamom", "nothing in it", "condensed milk"),
        ("I gave that up, I take my coffee with {v} now.",),
    ),
    Fact(
        ("I am learning {v} with a teacher online.", "On Tuesdays I have my {v} lesson."),
        "Which language is {who} learning?",
        "Which language was it that you are learning?",
        ("Portuguese", "Finnish", "Swahili", "Welsh", "Vietnamese"),
        ("I dropped it and started {v} instead.",),
    ),
    Fact(
        ("I play the {v} in a small band.", "I bought a second-hand {v} and practise daily."),
        "Which instrument does {who} play?",
        "Which instrument do you play again?",
        ("bassoon", "cajón", "mandolin", "trombone", "harmonium"),
    ),
    Fact(
        ("My shoe size is {v}.", "For the skates: I wear size {v}."),
        "What is {who}'s shoe size?",
        "What size do you wear again?",
        ("38", "41", "44", "36.5", "42.5"),
    ),
    Fact(
        ("My sister's name is {v}, she is two years older.", "I have one sister, {v}."),
        "What is the name of {who}'s sister?",
        "How is your sister? What was her name?",
        ("Ingrid", "Zainab", "Rosalind", "Marisol", "Thea"),
    ),
    Fact(
        ("The rent is {v} a month.", "We pay {v} for the flat, heating included."),
        "How much rent does {who} pay?",
        "How much was your rent again?",
        ("1,180 euros", "940 euros", "1,325 euros", "1,050 euros", "870 euros"),
        ("The landlord raised it, the rent is {v} from now on.",),
    ),
    Fact(
        ("The deadline of my thesis is {v}.", "I must hand in the thesis on {v}."),
        "When is the deadline of {who}'s thesis?",
        "When do you have to hand in the thesis?",
        ("14 March", "2 May", "28 April", "19 June", "6 July"),
        ("They moved the deadline of the thesis to {v}.",),
    ),
    Fact(
        ("I drive an old {v}.", "My car is a {v}, dents and all."),
        "Which car does {who} drive?",
        "Which car do you have again?",
        ("Saab 900", "Fiat Panda", "Volvo 240", "Renault 4", "Subaru Justy"),
        ("I sold the car and bought a {v}.",),
    ),
    Fact(
        ("I don't like {v} at all.", "No {v} for me, I never liked it."),
        "What does {who} not like to eat?",
        "Was there something you don't eat?",
        ("coriander", "aubergine", "liquorice", "blue cheese", "beetroot"),
    ),
    Fact(
        ("My locker at the pool is number {v}.", "I rent locker {v} at the pool."),
        "Which locker does {who} have at the pool?",
        "Which locker is yours again?",
        ("112", "57", "208", "19", "163"),
    ),
    Fact(
        ("Please remember: I am allergic to {v}.", "Important: {v} could kill me, I am allergic."),
        "What is {who} allergic to?",
        "What are you allergic to again?",
        ("penicillin", "peanuts", "bee stings", "shellfish", "latex"),
        important=True,
    ),
    Fact(
        ("Call me {v}, please.", "Everyone calls me {v}, do that too."),
        "What does {who} want to be called?",
        "What should I call you?",
        ("Kit", "Doc", "Bex", "Ziggy", "Moss"),
        important=True,
    ),
    Fact(
        ("If anything happens to me, call {v}.", "My emergency contact is {v}."),
        "Who is {who}'s emergency contact?",
        "Whom do I call if something happens to you?",
        ("Aunt Clara", "my neighbour Piet", "Uncle Desmond", "my brother Ravi", "Cousin Aiko"),
        important=True,
    ),
    Fact(
        ("Never book me a flight before {v}.", "Don't ever put a meeting before {v} for me."),
        "Before which hour does {who} want nothing booked?",
        "From when on may I book something for you?",
        ("nine", "ten", "half past eight", "eleven", "noon"),
        important=True,
    ),
)
_EVENTS: Final = (
    Event(
        ("Last Saturday I ran a half marathon in {place}, in {detail}.",),
        "What was {who}'s time at the half marathon in {place}?",
        "A half marathon in {place}, that is wonderful!",
        ("1:52", "2:07", "1:44", "1:59", "2:15"),
    ),
    Event(
        ("We spent the weekend in {place} and slept in {detail}.",),
        "Where did {who} sleep in {place}?",
        "I always wanted to see {place}!",
        ("a lighthouse", "an old mill", "a tent", "a houseboat", "a monastery"),
    ),
    Event(
        ("I gave a talk about {detail} in {place} yesterday.",),
        "What was {who}'s talk in {place} about?",
        "How did they like your talk in {place}?",
        ("tidal power", "lichens", "medieval maps", "sleep", "bridges"),
    ),
    Event(
        ("I lost {detail} on the train to {place}.",),
        "What did {who} lose on the train to {place}?",
        "Oh no, on the train to {place} of all places!",
        ("my passport", "a violin bow", "both gloves", "the house keys", "a library book"),
    ),
    Event(
        ("My parents visited from {place} and brought {detail}.",),
        "What did {who}'s parents bring from {place}?",
        "How nice that they came from {place}!",
        ("quince jam", "a cuckoo clock", "my old stamps", "three melons", "smoked trout"),
    ),
    Event(
        ("At the market in {place} I found {detail} for next to nothing.",),
        "What did {who} find at the market in {place}?",
        "The market in {place} is the best.",
        ("a typewriter", "a copper pan", "an atlas from 1911", "a kite", "a chess clock"),
    ),
    Event(
        ("We signed the contract for the {place} project, worth {detail}.",),
        "How much is {who}'s contract for the {place} project worth?",
        "Congratulations on the {place} project!",
        ("42,000 euros", "18,500 euros", "96,000 euros", "7,300 euros", "61,250 euros"),
    ),
    Event(
        ("In {place} I tried {detail} for the first time.",),
        "What did {who} try for the first time in {place}?",
        "And would you do it again in {place}?",
        ("ice swimming", "falconry", "glass blowing", "paragliding", "pottery"),
    ),
)
ENGLISH: Final = Language(
    speakers=("Nora", "Elias", "June"),
    facts=_FACTS,
    events=_EVENTS,
    places=(
        "Trieste", "Bergen", "Oaxaca", "Galway", "Tartu", "Kyoto", "Valparaíso", "Ghent",
        "Tbilisi", "Hobart", "Porto", "Aarhus", "Cusco", "Leipzig", "Zadar", "Halifax",
        "Nantes", "Turku", "Izmir", "Salta", "Bristol", "Lviv", "Basel", "Malmö",
    ),
    things=(
        "umbrella", "printer", "kettle", "bus", "lift", "heater", "bike chain", "parcel",
        "sandwich", "neighbour's radio", "laundry", "keyboard", "window", "soup", "calendar",
    ),
    greetings=(
        "Hey! Good to hear from you.", "Hi there, how have you been?", "Hello again!",
        "Hey, long time no talk! How was your week?", "Hi! What's new with you?",
    ),
    farewells=(
        "Talk to you soon!", "Take care, bye!", "I have to run. Until next time!",
        "That was nice. Good night!", "Bye for now, and say hello to everyone.",
    ),
    reactions=(
        "That's great!", "Oh wow, really?", "I see.", "Haha, that is so you.", "Good to know.",
        "Thanks for telling me.", "Interesting, tell me more!", "Yes, absolutely.",
        "I can imagine. How did that make you feel?", "Sounds good to me.",
    ),
    musings=(
        "I really love that we can sit here and talk about everything and nothing, it always makes"
        " me feel so much better about the whole week.",
        "Sometimes I think that the small moments are the ones that matter most, and that we should"
        " all slow down a little and enjoy them while they last.",
        "It is amazing how much one can grow by simply trying, even if it feels hard at first and"
        " even if nobody else notices.",
        "You know, friends who listen are worth more than anything, so thank you for always being"
        " there and for cheering me up when I need it.",
        "I guess what I'm trying to say is that things will work out somehow, as they always do,"
        " and worrying about them never helped anybody.",
    ),
    noise=(
        "The {thing} broke again this morning, typical.",
        "I waited {number} minutes because of the {thing}, can you believe it?",
        "It rained all day, and the {thing} got wet.",
        "I read something funny about {place} and a {thing} today.",
        "There were {number} people in front of me at the bakery, and only one {thing} left.",
        "Had a strange dream about a {thing} in {place} last night.",
    ),
    unsure=(
        "Let me think, I told you once.", "It's in our chat somewhere.", "You should know that!",
    ),
)  # fmt: skip

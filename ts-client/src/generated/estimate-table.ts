/**
 * The estimator's words and weights, generated from protocol/estimate.json by `npm run generate`.
 * Not for hands.
 */
export const ESTIMATE_TABLE = {
  version: "words-1",
  charactersMax: 2048,
  estimateMin: 0.1,
  valueShare: 0.4,
  standingShare: 0.1,
  densityHalf: 1.5,
  characterLength: 0.5,
  stemSyllablesMax: 4,
  elisionLettersMax: 2,
  sentences: { plain: 1, first: 1.3, addressed: 0.5, question: 0.3 },
  kinds: {
    content: { weight: 1, lift: 0, beside: false },
    name: { weight: 1.2, lift: 0, beside: false },
    number: { weight: 1.3, lift: 0, beside: false },
    character: { weight: 0.5, lift: 0, beside: false },
    function: { weight: 0, lift: 0, beside: false },
    first: { weight: 0, lift: 0, beside: false },
    second: { weight: 0, lift: 0, beside: false },
    chat: { weight: 0.1, lift: 0, beside: false },
    time: { weight: 1.5, lift: 0, beside: false },
    negation: { weight: 0.5, lift: 0.25, beside: true },
    rule: { weight: 0.5, lift: 0.5, beside: true },
    preference: { weight: 1, lift: 1, beside: false },
    health: { weight: 1, lift: 1, beside: false },
    secret: { weight: 1, lift: 1, beside: false },
    deadline: { weight: 1.5, lift: 1, beside: false },
    reference: { weight: 1.5, lift: 0.5, beside: false },
    contact: { weight: 1, lift: 1, beside: false },
    identity: { weight: 1, lift: 0.5, beside: false },
    milestone: { weight: 1, lift: 0.5, beside: false },
    correction: { weight: 0.5, lift: 0.5, beside: false },
  },
  letters: [
    [48, 57],
    [65, 90],
    [97, 122],
    [192, 214],
    [216, 246],
    [248, 687],
    [768, 1566],
    [1568, 2403],
    [2406, 3583],
    [3840, 4095],
    [4256, 6015],
    [6144, 8191],
    [11264, 11775],
    [42560, 44031],
    [44032, 55203],
    [64256, 65023],
    [65136, 65276],
    [65296, 65305],
    [65313, 65338],
    [65345, 65370],
  ],
  unspacedScripts: [
    [3584, 3839],
    [4096, 4255],
    [6016, 6143],
    [12353, 12543],
    [13312, 19903],
    [19968, 40959],
    [57344, 64255],
    [65382, 65439],
    [65536, 126975],
    [131072, 1114111],
  ],
  capitals: [
    [65, 90],
    [192, 214],
    [216, 222],
    [913, 939],
    [1040, 1071],
  ],
  capitalToSmall: 32,
  ends: ".!?…。！？．؟।\n",
  words: {
    function:
      "a an the this that these those it its it's that's there there's here here's he him his he's she her hers she's they them their theirs they're who whom whose who's which what what's when when's where where's why how how's one ones someone somebody something anyone anybody anything everyone everybody everything other others another each both either some any all such own same self himself herself itself themselves am is are was were be been being do does did done doing has have had having will would shall should could can may might it'll that'll they'll he'll she'll there'll it'd that'd they'd he'd she'd they've could've would've should've and or but if then than so because as while though although whether unless nor yet of in on at to from by for with about into onto over under between through during before after above below up down out off again around against along among across behind beside near inside outside toward towards upon within via per like's too very just also only even more most much many few less least still already ever now well back away together rather quite almost maybe perhaps soon often sometimes usually der das den dem des ein eine einen einem einer eines ist sind waren wird werden wurde wurden sein um auf zu zum zur vom mit und oder als dass sie ihr sich hat haben auch bei für aus nach noch schon nur sehr wie wenn aber denn doch da es er ja mal le la les l un une d au aux est sont était et ou dans sur par pour avec que qui ce cette il elle ils elles se sa ses leur leurs en y très plus été c'est qu'il el los las una unos unas de del al por para con su sus lo está están era muy más como pero este esta eso o os uma dos na em com sua é são foi à às ao mais mas gli uno di della dei che e è sono molto più come",
    first:
      "i me my mine myself i'm i've i'd i'll im ive we us our ours ourselves we're we've we'd we'll user user's users ich mich mir mein meine meinen meinem meiner wir uns unser unsere je j'ai moi mon ma mes nous notre nos yo mi mis mí nosotros nuestro nuestra tengo soy eu meu minha nós io mio mia",
    second:
      "you your yours yourself yourselves you're you've you'd you'll u ur ya y'all du dich dir dein deine deinen deiner euch tu te toi ton tes vous votre vos tú ti usted você teu",
    chat: "hi hello hey heya hiya howdy greetings welcome morning afternoon evening night goodnight bye goodbye cya later cheers ok okay okey k kk alright yes yeah yep yup yea yay nah nope mm mmm mhm mm-hmm mmhmm uh umm uh-huh huh hm hmm hmmm ah aha oh ooh ohh wow whoa woah aw aww awww gosh omg god geez haha hahaha hahahaha hehe hehehe lol lmao rofl lolol xd thanks thank thankyou thx ty please pls sorry apologies apologize apology pardon excuse congrats congratulations bless luck sure fine right exactly absolutely definitely certainly totally indeed true truly correct agree agreed agreement course obviously basically literally honestly actually anyway anyways guess suppose mean means seriously good great nice cool awesome amazing wonderful fantastic incredible excellent perfect lovely beautiful gorgeous cute sweet adorable impressive inspiring inspired brilliant superb fun funny hilarious interesting exciting excited thrilled glad happy happier happiest proud pleased grateful thankful blessed delighted bad sad terrible awful crazy weird strange wild insane rough tough hard easy big little small huge new old best better worst worse special important real really kind kinda sort sorta pretty super lot lots bit tons thing things stuff way ways time times day days moment moments minute minutes second seconds today tonight weekend people guy guys person friend friends life world place places part point idea ideas thought thoughts feeling feelings feel feels felt sense reason case fact problem problems worry worries matter rush hurry question questions answer answers go goes going gone went comes coming came get gets getting got gotten give gives giving gave given make makes making made take takes taking took taken let lets let's put keep keeps keeping kept know knows knowing knew known think thinks thinking see sees seeing saw seen look looks looking looked hear hears hearing heard say says saying said tell tells telling told talk talks talking talked chat chats chatting ask asks asking asked want wants wanted need needs needed hope hopes hoping hoped wish wishes wishing wait waiting waited believe imagine wonder wondering try tries trying tried help helps helping helped work works worked seem seems seemed happen happens happened happening start starts started stay stays stayed sit sits sitting stop find finds finding found show shows showed use used bring brings brought share shares shared sharing sound sounds sounded deserve deserved appreciate appreciated support supportive enjoy enjoyed enjoys enjoying like likes liked love loves loved loving relax rest sleep slept care caring smile smiling laugh laughing check checking checked load loading running finish finished next first last end ends able ready busy forward far long short full free whole different nothing none no-one nobody anywhere everywhere somewhere sleepy tired mind bother hang hanging weather lunch joke jokes delay plan plans doubt surprise catch hold turn turns pass goodness dear deal miss missed missing inspire inspires inspiration encourage encouraging motivation motivated positive gentle hug hugs vibe vibes joy joyful peace peaceful calm comfort comforting worth hallo guten tag danke dank bitte gern gerne genau schön schöne schönen freue freut recht wirklich geht gehts macht machst bis bald tschüss viel vielen heute denke toll bonjour salut merci beaucoup ça va bien oui d'accord accord problème verra vraiment gentil gentille bon bonne journée bientôt comment tout rien hola gracias qué cómo estás tal todo vale vemos luego entonces alegro mucho muchas verdad buenos días claro sí adiós ahí olá obrigado obrigada tudo bem hoje dia bom boa ciao grazie mille davvero sei gentile presto bene prego",
    time: "yesterday tomorrow ago year years yearly annual annually month months monthly week weeks weekly daily hour hours hourly decade decades century since until till everyday midnight noon o'clock pm a.m p.m january february march april june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays tue tues wed thu thurs fri spring summer autumn fall winter easter christmas thanksgiving ramadan gestern morgen jahr jahre monat woche montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz juni juli oktober dezember hier demain année mois semaine lundi mardi mercredi jeudi vendredi samedi dimanche ayer mañana año años semana lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    negation:
      "not no without cannot can't cant don't dont doesn't doesnt didn't didnt won't wont wouldn't shouldn't couldn't isn't isnt aren't wasn't weren't hasn't haven't hadn't mustn't neither longer anymore unable except nicht kein keine keinen keiner ohne ne pas sans sin nunca não non",
    rule: "never always must every forbidden banned forbid mandatory required require requires prohibited nie niemals immer stets muss jamais toujours siempre jamás sempre",
    preference:
      "prefer prefers preferred preference preferences favorite favourite favorites favourites dislike dislikes disliked hate hates hated loathe loathes detest detests bevorzuge bevorzugt lieber lieblings préfère préféré prefiero prefiere favorito favorita prefiro preferisco hasse déteste odio",
    health:
      "allergy allergies allergic intolerant intolerance celiac coeliac gluten vegetarian vegan halal kosher diabetic diabetes asthma asthmatic epilepsy epileptic insulin medication medications medicine prescription prescribed dose diagnosed diagnosis cancer tumor tumour pregnant pregnancy surgery hospital hives anaphylaxis penicillin disability disabled wheelchair deaf blind colour-blind color-blind autistic adhd dyslexic depression ptsd migraine migraines chronic blood therapist doctor dentist injury injured allergie allergien allergisch diabète enceinte allergique alergia alérgico alérgica embarazada allergico allergica schwanger",
    secret:
      "password passwords passcode passphrase passcodes pin pins credential credentials username login logins passport ssn iban ssh passwort kennwort contraseña senha mot-de-passe",
    deadline:
      "deadline deadlines due expire expires expired expiry expiration renew renews renewal appointment appointments fällig frist termin échéance plazo vence prazo scadenza",
    contact:
      "address addresses phone telephone email e-mail mail postcode zip street lane avenue adresse telefon straße dirección teléfono calle endereço indirizzo",
    identity:
      "name names named call called nickname surname maiden spelled spelt pronouns wife husband spouse partner fiancé fiancée girlfriend boyfriend ex son sons daughter daughters child children kid kids baby twin twins mother father mom mum dad parents brother brothers sister sisters half-brother half-sister stepson stepdaughter grandma grandpa grandmother grandfather aunt uncle cousin niece nephew boss manager heiße heißt tochter sohn vater schwester bruder appelle fille fils mère père hija hijo hermana hermano llamo",
    milestone:
      "birthday birthdays anniversary born died death married divorced engaged wedding graduated graduation retired retirement hired fired promoted promotion moved move adopted bought quit resigned geburtstag geboren anniversaire cumpleaños aniversário compleanno",
    correction: "correction instead wrong mistake misspelled meant",
  },
  koreanWords: {
    function:
      "이 그 저것 이것 그것 것 수 때 더 또 및 등 좀 중 위해 대한 위한 통해 때문에 그리고 그래서 하지만 그런데 그러나 근데 혹은 또는 만약 해요 해 했어요 했다 한다 하는 하고 합니다 했습니다 함 돼요 되는 됩니다 됐어요 있다 이다 입니다 이에요 예요 뭐 왜 누가 누구 어디 언제 무엇 우린 에 이상 이제 다 꼭",
    first:
      "나 나는 난 내 내가 나를 나의 저 저는 전 제 제가 저를 저의 우리 우리는 우리가 저희 저희는 사용자 사용자는 사용자가 사용자의",
    second: "너 너는 넌 네가 너의 당신 당신은 당신의 여러분",
    chat: "네 네네 예 응 응응 어 아 아하 오 와 우와 음 음음 흠 하하 하하하 호호 헐 참 잘 막 너무 아주 매우 그냥 일단 조금 많이 다시 먼저 서로 같이 함께 저도 나도 거 거예요 일 하루 오늘 지금 나중에 다음에 할게요 할 봐요 봐 볼게요 보자 하자 돼 날 안녕 뭐해",
    negation: "안 못",
  },
  koreanStems: {
    function: "있 그리 이런 그런 저런 어떤 하면 하지 위하",
    chat: "안녕 감사 고마 고맙 반가 축하 대박 정말 진짜 그래 그렇 그럼 그럴 그러 그랬 이렇 알겠 알았 맞아 맞죠 맞네 좋 괜찮 걱정 미안 죄송 잠시 잠깐 생각 이야기 얘기 어때 어땠 어떻 무슨 재미 재밌 웃기 웃겨 귀여 귀엽 사랑스 사랑해 사랑하 부러 부럽 신기 몰랐 모르 대단 최고 멋지 멋져 멋있 화이팅 파이팅 힘내 응원 믿어 오케이 확인 수고 오랜만 그동안 지냈 지내 요즘 날씨 기분 이해 글쎄 기다 기대 잘됐 잘될 잘할 알려 보내세요 행복 즐거 기뻐 기쁘 다행 아마 역시 당연 완전 같아 같은 거든 나중 다음 하루",
    time: "어제 내일 작년 내년 올해 지난 매일 매주 매달 매년 월요일 화요일 수요일 목요일 금요일 토요일 일요일 오전 오후 아침 저녁 주말",
    negation: "않 없 아니 아닌 아닙 못하 못해 마세요 마십시오 말아 말고 말라 금지",
    rule: "항상 절대 반드시 언제나 무조건 해야",
    preference: "싫어 선호 취향 질색 좋아하 좋아해 좋아합",
    health:
      "알레르기 알러지 당뇨 천식 복용 진단 임신 수술 병원 채식 비건 불내증 유당불내 혈압 인슐린 처방 장애 치과 의사 우울증 암",
    secret: "비밀번호 암호 여권 열쇠 계좌 주민등록 와이파이",
    deadline: "마감 기한 만료 갱신 예약 제출",
    contact: "주소 전화 연락처 이메일 메일",
    identity:
      "이름 성함 별명 아내 남편 딸 아들 엄마 아빠 어머니 아버지 여동생 남동생 동생 누나 언니 오빠 할머니 할아버지 아이들 부모 남자친구 여자친구 담당",
    milestone: "생일 기념일 결혼 이혼 이사 졸업 취직 퇴사 입사 승진 은퇴 태어 돌아가",
    correction: "정정 실은 사실은",
  },
  unspaced: {
    chat: "好的 谢谢 謝謝 哈哈 呵呵 真的 太好了 没问题 沒問題 你好 再见 再見 嗯嗯 是的 对啊 辛苦了 加油 ありがとう ございます そうなんですね そうですね すごい すごいですね またね こんにちは おはよう はい うん なるほど 大丈夫 よかった お疲れ様 おめでとう すみません ごめん 了解",
    function:
      "です ます でした ました 我们 你 他 她 的 了 吗 呢 吧 啊 是 在 は が を に の で と も",
    first: "私 僕 俺 我",
    time: "今天 昨天 明天 去年 今年 明年 每天 昨日 明日 毎日 毎週 来年",
    negation: "不 没有 沒有 ない ません",
    rule: "从不 從不 总是 總是 必须 必須 绝不 いつも 必ず 絶対",
    preference: "喜欢 喜歡 讨厌 討厭 偏好 好き 嫌い",
    health: "过敏 過敏 アレルギー 糖尿病 怀孕 懷孕 妊娠 手术 手術 药 薬 哮喘 喘息",
    secret: "密码 密碼 パスワード 护照 護照 鍵",
    deadline: "截止 到期 締め切り 締切 期限",
    contact: "地址 住所 电话 電話 邮箱 メール",
    identity: "名字 名前 叫做 女儿 女兒 儿子 兒子 娘 息子 妻 夫 丈夫 妻子 妈妈 爸爸",
    milestone: "生日 誕生日 结婚 結婚 离婚 離婚 出生 搬到 引っ越",
  },
} as const
